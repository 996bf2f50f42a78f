// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/io/npy.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/checked.h"
#include "tensor/tensor.h"
#include "tools/weir/io/file.h"

namespace weir::cli {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
// The format's own reader takes at most 10,000 characters of header; longer ones are not data.
constexpr size_t kMaxHeaderBytes = 65536;

struct TypeName {
  ElementType type;
  std::string_view name;  // without the byte order
};
constexpr std::array<TypeName, 12> kTypeNames = {{{ElementType::kFloat32, "f4"},
                                                  {ElementType::kFloat64, "f8"},
                                                  {ElementType::kFloat16, "f2"},
                                                  {ElementType::kInt8, "i1"},
                                                  {ElementType::kUint8, "u1"},
                                                  {ElementType::kInt16, "i2"},
                                                  {ElementType::kUint16, "u2"},
                                                  {ElementType::kInt32, "i4"},
                                                  {ElementType::kUint32, "u4"},
                                                  {ElementType::kInt64, "i8"},
                                                  {ElementType::kUint64, "u8"},
                                                  {ElementType::kBool, "b1"}}};

struct Header {
  std::string type;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// The three entries of the header's dictionary, in any order; nothing else is taken.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  Result<Header> parse() {
    Header header;
    bool has_type = false;
    bool has_order = false;
    bool has_shape = false;
    WEIR_TRY(expect('{'));
    while (!take('}')) {
      WEIR_ASSIGN(std::string key, string());
      WEIR_TRY(expect(':'));
      if (key == "descr" && !std::exchange(has_type, true)) {
        WEIR_ASSIGN(header.type, string());
      } else if (key == "fortran_order" && !std::exchange(has_order, true)) {
        WEIR_ASSIGN(header.fortran_order, boolean());
      } else if (key == "shape" && !std::exchange(has_shape, true)) {
        WEIR_ASSIGN(header.shape, tuple());
      } else {
        return fail(StatusCode::kInvalidArgument,
                    "The .npy header has the key '{}' twice or one that the format does not know.", key);
      }
      if (!take(',')) {
        WEIR_TRY(expect('}'));
        break;
      }
    }
    skip_space();
    if (position_ != text_.size()) return unexpected("the end");
    if (!has_type || !has_order || !has_shape) {
      return fail(StatusCode::kInvalidArgument,
                  "The .npy header lacks the key '{}', and it has 'descr', 'fortran_order' and 'shape'.",
                  !has_type    ? "descr"
                  : !has_order ? "fortran_order"
                               : "shape");
    }
    return header;
  }

 private:
  std::unexpected<Status> unexpected(std::string_view wanted) const {
    return fail(StatusCode::kInvalidArgument, "The .npy header has something else than {} at character ({}).",
                wanted, position_);
  }
  void skip_space() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n')) ++position_;
  }
  bool take(char c) {
    skip_space();
    if (position_ >= text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }
  Result<void> expect(char c) {
    if (!take(c)) return unexpected(std::string("'") + c + "'");
    return {};
  }
  Result<std::string> string() {
    skip_space();
    if (position_ >= text_.size() || (text_[position_] != '\'' && text_[position_] != '"')) {
      return unexpected("a string");
    }
    const size_t end = text_.find(text_[position_], position_ + 1);
    if (end == std::string_view::npos || end - position_ > 64) return unexpected("a short string");
    std::string value(text_.substr(position_ + 1, end - position_ - 1));
    position_ = end + 1;
    return value;
  }
  Result<bool> boolean() {
    skip_space();
    for (bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(position_).starts_with(word)) {
        position_ += word.size();
        return value;
      }
    }
    return unexpected("True or False");
  }
  Result<std::vector<int64_t>> tuple() {
    std::vector<int64_t> values;
    WEIR_TRY(expect('('));
    while (!take(')')) {
      skip_space();
      int64_t value = 0;
      const char* begin = text_.data() + position_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
      if (error != std::errc() || value < 0) return unexpected("an extent of at least 0");
      position_ += static_cast<size_t>(end - begin);
      take('L');  // Python 2 wrote long integers so
      if (values.size() == static_cast<size_t>(kMaxRank)) {
        return fail(StatusCode::kInvalidArgument, "The .npy array has more than ({}) axes.", kMaxRank);
      }
      values.push_back(value);
      if (!take(',')) {
        WEIR_TRY(expect(')'));
        break;
      }
    }
    return values;
  }

  std::string_view text_;
  size_t position_ = 0;
};

Result<ElementType> parse_type(std::string_view text) {
  const std::string_view name = text.empty() ? text : text.substr(1);
  for (const TypeName& known : kTypeNames) {
    if (known.name != name) continue;
    if (text[0] == '>' && bit_width(known.type) > 8) {
      return fail(StatusCode::kUnimplemented,
                  "The .npy array has big-endian elements ('{}'), and only little-endian ones are read; save "
                  "array.astype('<{}').",
                  text, name);
    }
    if (text[0] == '<' || text[0] == '|' || text[0] == '=' || text[0] == '>') return known.type;
  }
  return fail(
      StatusCode::kUnimplemented,
      "The .npy array has element type ('{}'), and float16, float32, float64, integers of 8 to 64 bits and "
      "bool are read.",
      text);
}

Result<int64_t> array_bytes(ElementType type, std::span<const int64_t> shape) {
  WEIR_ASSIGN(const int64_t count, checked_product(shape));
  // At most 64 bits an element, so byte_size cannot overflow below the limit.
  if (count > kMaxArrayBytes || byte_size(type, count) > kMaxArrayBytes) {
    return fail(StatusCode::kResourceExhausted,
                "The array has ({}) elements of {}, and ({}) bytes is the most.", count, to_string(type),
                kMaxArrayBytes);
  }
  return byte_size(type, count);
}

}  // namespace

Result<Array> make_array(ElementType type, std::span<const int64_t> shape) {
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] < 0) {
      return fail(StatusCode::kInvalidArgument,
                  "Axis ({}) of an array has the extent ({}), and (0) is the least.", axis, shape[axis]);
    }
  }
  WEIR_ASSIGN(const int64_t bytes, array_bytes(type, shape));
  return Array{type, {shape.begin(), shape.end()}, std::vector<std::byte>(static_cast<size_t>(bytes))};
}

Result<Array> parse_npy(std::span<const std::byte> bytes) {
  if (bytes.size() < 10 || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    return fail(StatusCode::kInvalidArgument,
                "The file is no .npy file: its first bytes are not '\\x93NUMPY'.");
  }
  const auto octet = [&](size_t i) { return std::to_integer<size_t>(bytes[i]); };
  const size_t version = octet(6);
  if (version != 1 && version != 2) {
    return fail(StatusCode::kUnimplemented, "The .npy file has version ({}), and 1 and 2 are read.", version);
  }
  const size_t start = version == 1 ? 10 : 12;
  if (bytes.size() < start) {
    return fail(StatusCode::kDataLoss,
                "The .npy file has ({}) bytes, and its header alone takes ({}) or more.", bytes.size(),
                start);
  }
  const size_t header_bytes =
      octet(8) | octet(9) << 8 | (version == 2 ? octet(10) << 16 | octet(11) << 24 : size_t{0});
  if (header_bytes > kMaxHeaderBytes || header_bytes > bytes.size() - start) {
    return fail(StatusCode::kDataLoss,
                "The .npy header says that it has ({}) bytes, and the file has ({}) left; ({}) is the most.",
                header_bytes, bytes.size() - start, kMaxHeaderBytes);
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + start, header_bytes);
  WEIR_ASSIGN(const Header header, HeaderParser(text).parse());
  WEIR_ASSIGN(const ElementType type, parse_type(header.type));
  const std::vector<int64_t>& shape = header.shape;
  if (header.fortran_order && std::ranges::count_if(shape, [](int64_t n) { return n != 1; }) > 1) {
    return fail(
        StatusCode::kUnimplemented,
        "The .npy array is in Fortran order, and only C order is read; save numpy.ascontiguousarray(array).");
  }
  WEIR_ASSIGN(const int64_t size, array_bytes(type, shape));
  const std::span<const std::byte> payload = bytes.subspan(start + header_bytes);
  if (payload.size() != static_cast<size_t>(size)) {
    return fail(StatusCode::kDataLoss, "The .npy array needs ({}) bytes of elements, and the file has ({}).",
                size, payload.size());
  }
  Array array{type, shape, {payload.begin(), payload.end()}};
  if (type == ElementType::kBool) {
    for (std::byte& value : array.data) value = std::byte(value != std::byte{0});
  }
  return array;
}

Result<Array> read_npy(const std::string& path) {
  WEIR_ASSIGN(const std::vector<std::byte> bytes, read_file(path, kMaxArrayBytes + kMaxHeaderBytes));
  WEIR_ASSIGN(Array array, parse_npy(bytes), "while reading '{}'", path);
  return array;
}

Result<std::vector<std::byte>> format_npy(ElementType type, std::span<const int64_t> shape,
                                          std::span<const std::byte> data) {
  const auto known = std::ranges::find(kTypeNames, type, &TypeName::type);
  if (known == kTypeNames.end()) {
    return fail(StatusCode::kUnimplemented, "The .npy format has no name for element type ({}).",
                to_string(type));
  }
  WEIR_ASSIGN(const int64_t size, array_bytes(type, shape));
  if (data.size() != static_cast<size_t>(size)) {
    return fail(StatusCode::kInvalidArgument,
                "An array of type ({}) has ({}) bytes, and its shape ({}) needs ({}).", to_string(type),
                data.size(), fmt::join(shape, ", "), size);
  }
  std::string extents;
  for (int64_t extent : shape) extents += fmt::format("{},{}", extent, shape.size() == 1 ? "" : " ");
  if (shape.size() > 1) extents.resize(extents.size() - 2);
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                   bit_width(type) == 8 ? '|' : '<', known->name, extents);
  // The elements start at a multiple of 64 bytes, and a newline comes before them.
  header.resize(static_cast<size_t>(align_up(static_cast<int64_t>(header.size()) + 11, 64)) - 11, ' ');
  header += '\n';
  std::string prefix(kMagic);
  prefix += {'\x01', '\x00', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  prefix += header;
  std::vector<std::byte> bytes(prefix.size() + data.size());
  std::memcpy(bytes.data(), prefix.data(), prefix.size());
  std::ranges::copy(data, bytes.begin() + static_cast<ptrdiff_t>(prefix.size()));
  return bytes;
}

Result<void> write_npy(const std::string& path, const Array& array) {
  WEIR_ASSIGN(const std::vector<std::byte> bytes, format_npy(array.type, array.shape, array.data),
              "while writing '{}'", path);
  return write_file(path, bytes);
}

}  // namespace weir::cli
