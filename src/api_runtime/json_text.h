// SPDX-License-Identifier: Apache-2.0
//
// JsonText writes JSON as it goes, commas and escapes included.
//
//   JsonText json;
//   json.object([&] {
//     json.key("name").value("conv");
//     json.key("bytes").value(int64_t{64});
//   });
//   json.text()
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::api {

class JsonText {
 public:
  template <std::invocable Body>
  void object(Body body) {
    open('{');
    body();
    close('}');
  }
  template <std::invocable Body>
  void array(Body body) {
    open('[');
    body();
    close(']');
  }
  JsonText& key(std::string_view name);
  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }
  void value(int64_t number);
  void value(int32_t number) { value(int64_t{number}); }
  void value(bool yes);
  void null();
  const std::string& text() const { return text_; }

 private:
  void comma();
  void open(char bracket);
  void close(char bracket);
  // Between quotes. Octets that are no UTF-8 become U+FFFD: names come from files.
  void quote(std::string_view text);

  std::string text_;
  bool first_ = true;  // of the innermost object or array, or after a key
};

}  // namespace weir::api
