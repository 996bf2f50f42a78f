// SPDX-License-Identifier: Apache-2.0
#include "api_runtime/json_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace weir::api {
namespace {

std::string quoted(std::string_view text) {
  JsonText json;
  json.value(text);
  return json.text();
}

TEST(JsonText, WritesValuesWithCommas) {
  JsonText json;
  json.object([&] {
    json.key("a").value(1);
    json.key("b").array([&] {
      json.value(true);
      json.null();
      json.array([] {});
      json.value("x");
    });
    json.key("c").object([&] { json.key("d").value(std::numeric_limits<int64_t>::min()); });
    json.key("e").value(false);
  });
  EXPECT_EQ(json.text(), R"({"a":1,"b":[true,null,[],"x"],"c":{"d":-9223372036854775808},"e":false})");
}

TEST(JsonText, Escapes) {
  EXPECT_EQ(quoted("say \"no\"\\\n\x01"), R"("say \"no\"\\\u000a\u0001")");
  EXPECT_EQ(quoted("größe 大 😀"), "\"größe 大 😀\"");
  EXPECT_EQ(quoted(std::string_view("a\0b", 3)), R"("a\u0000b")");
}

TEST(JsonText, ReplacesWhatIsNoUtf8) {
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(quoted("a\xFFz"), "\"a" + mark + "z\"");
  EXPECT_EQ(quoted("\xC3"), "\"" + mark + "\"");                                   // cut off
  EXPECT_EQ(quoted("\xC0\xAF"), "\"" + mark + mark + "\"");                        // longer than need be
  EXPECT_EQ(quoted("\xED\xA0\x80"), "\"" + mark + mark + mark + "\"");             // a surrogate
  EXPECT_EQ(quoted("\xF4\x90\x80\x80"), "\"" + mark + mark + mark + mark + "\"");  // beyond the last
  EXPECT_EQ(quoted("\xE5z"), "\"" + mark + "z\"");
}

}  // namespace
}  // namespace weir::api
