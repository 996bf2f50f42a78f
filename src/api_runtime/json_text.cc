// SPDX-License-Identifier: Apache-2.0
#include "api_runtime/json_text.h"

#include <fmt/format.h>

namespace weir::api {
namespace {

// Octets of the UTF-8 character at the start of `text`; 0 where there is none.
size_t utf8_length(std::string_view text) {
  const auto octet = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned first = octet(0);
  const size_t length = first < 0x80 ? 1 : first >= 0xC2 && first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (first >= 0x80 && (first < 0xC2 || first > 0xF4)) {
    return 0;
  }
  for (size_t i = 1; i < length; ++i) {
    if ((octet(i) & 0xC0) != 0x80) {
      return 0;
    }
  }
  // Longer than need be, surrogates, beyond the last character.
  const unsigned second = octet(1);
  const bool bad = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                   (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return bad ? 0 : length;
}

}  // namespace

void JsonText::comma() {
  if (!first_) {
    text_ += ',';
  }
  first_ = false;
}

void JsonText::open(char bracket) {
  comma();
  text_ += bracket;
  first_ = true;
}

void JsonText::close(char bracket) {
  text_ += bracket;
  first_ = false;
}

void JsonText::quote(std::string_view text) {
  text_ += '"';
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const char c = text.front();
    if (length == 0) {
      text_ += "\xEF\xBF\xBD";
    } else if (c == '"' || c == '\\') {
      text_ += '\\';
      text_ += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      text_ += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      text_ += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  text_ += '"';
}

JsonText& JsonText::key(std::string_view name) {
  comma();
  quote(name);
  text_ += ':';
  first_ = true;
  return *this;
}

void JsonText::value(std::string_view text) {
  comma();
  quote(text);
}

void JsonText::value(int64_t number) {
  comma();
  text_ += fmt::format("{}", number);
}

void JsonText::value(bool yes) {
  comma();
  text_ += yes ? "true" : "false";
}

void JsonText::null() {
  comma();
  text_ += "null";
}

}  // namespace weir::api
