// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/wire.h"

#include <cstring>

#include "import/onnx/limits.h"

namespace weir::onnx_import {
namespace {

enum class Message : uint8_t { kModel, kGraph, kNode, kAttribute, kTensor, kSparseTensor, kFunction };

enum class Action : uint8_t { kCopy, kDrop, kDescend, kPayload };

struct Rule {
  Action action = Action::kCopy;
  Message message = Message::kModel;  // kDescend
};

constexpr Rule descend(Message message) {
  return {Action::kDescend, message};
}

// Field numbers of onnx.proto.
Rule rule_of(Message message, uint32_t field) {
  constexpr Rule kDropped{Action::kDrop, Message::kModel};
  switch (message) {
    case Message::kModel:
      switch (field) {
        case 6:   // doc_string
        case 20:  // training_info
          return kDropped;
        case 7:
          return descend(Message::kGraph);
        case 25:
          return descend(Message::kFunction);
        default:
          return {};
      }
    case Message::kGraph:
      switch (field) {
        case 1:
          return descend(Message::kNode);
        case 5:
          return descend(Message::kTensor);
        case 15:
          return descend(Message::kSparseTensor);
        case 10:  // doc_string
        case 13:  // value_info
        case 14:  // quantization_annotation
          return kDropped;
        default:
          return {};
      }
    case Message::kFunction:
      switch (field) {
        case 7:
          return descend(Message::kNode);
        case 11:
          return descend(Message::kAttribute);
        case 8:   // doc_string
        case 12:  // value_info
          return kDropped;
        default:
          return {};
      }
    case Message::kNode:
      switch (field) {
        case 5:
          return descend(Message::kAttribute);
        case 6:  // doc_string
          return kDropped;
        default:
          return {};
      }
    case Message::kAttribute:
      switch (field) {
        case 5:
        case 10:
          return descend(Message::kTensor);
        case 6:
        case 11:
          return descend(Message::kGraph);
        case 22:
        case 23:
          return descend(Message::kSparseTensor);
        case 13:  // doc_string
          return kDropped;
        default:
          return {};
      }
    case Message::kSparseTensor:
      return field == 1 || field == 2 ? descend(Message::kTensor) : Rule{};
    case Message::kTensor:
      switch (field) {
        case 4:
        case 5:
        case 7:
        case 9:
        case 10:
        case 11:
          return {Action::kPayload, Message::kTensor};
        case 12:  // doc_string
          return kDropped;
        default:
          return {};
      }
  }
  return {};
}

constexpr uint32_t kVarint = 0;
constexpr uint32_t kFixed64 = 1;
constexpr uint32_t kLengthDelimited = 2;
constexpr uint32_t kFixed32 = 5;

void append_varint(uint64_t value, std::string& out) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

void append_length_delimited(uint32_t field, std::string_view content, std::string& out) {
  append_varint(uint64_t{field} << 3 | kLengthDelimited, out);
  append_varint(content.size(), out);
  out += content;
}

class Scanner {
 public:
  explicit Scanner(std::span<const std::byte> model) : model_(model) {}

  Result<StrippedModel> run() {
    WEIR_TRY(rewrite(Message::kModel, 0, model_.size(), result_.message, 0));
    return std::move(result_);
  }

 private:
  std::unexpected<Status> broken(size_t offset, std::string_view what) const {
    return fail(StatusCode::kDataLoss, "The model is cut off or is no ONNX file: {} at offset ({}) of ({}).",
                what, offset, model_.size());
  }

  Result<void> rewrite(Message message, size_t begin, size_t end, std::string& out, int depth) {
    if (depth > kMaxDepth) {
      return fail(StatusCode::kInvalidArgument,
                  "The model nests ({}) messages at offset ({}), and ({}) is the most.", depth, begin,
                  kMaxDepth);
    }
    if (++messages_ > kMaxMessages) {
      return fail(StatusCode::kResourceExhausted,
                  "The model has more than ({}) nodes, attributes, tensors and graphs, and that is the most.",
                  kMaxMessages);
    }
    std::optional<TensorPayload> payload;
    const std::span<const std::byte> bytes = model_.first(end);
    size_t position = begin;
    while (position < end) {
      const size_t start = position;
      if (++fields_ > kMaxFields) {
        return fail(StatusCode::kResourceExhausted,
                    "The model has more than ({}) fields beside its tensors' elements, and that is the most.",
                    kMaxFields);
      }
      const std::optional<uint64_t> tag = read_varint(bytes, position);
      if (!tag || *tag >> 3 == 0 || *tag >> 32 != 0) {
        return broken(start, "there is no field number");
      }
      const auto field = static_cast<uint32_t>(*tag >> 3);
      const auto wire_type = static_cast<uint32_t>(*tag & 7);
      uint64_t length = 0;
      if (wire_type == kVarint) {
        if (!read_varint(bytes, position)) {
          return broken(start, "a number ends too early");
        }
      } else if (wire_type == kFixed64 || wire_type == kFixed32) {
        length = wire_type == kFixed64 ? 8 : 4;
      } else if (wire_type == kLengthDelimited) {
        const std::optional<uint64_t> declared = read_varint(bytes, position);
        if (!declared) {
          return broken(start, "a length ends too early");
        }
        length = *declared;
      } else {
        return broken(start, fmt::format("field ({}) has wire type ({})", field, wire_type));
      }
      if (length > end - position) {
        return broken(start, fmt::format("field ({}) has ({}) bytes, and ({}) are left", field, length,
                                         end - position));
      }
      const size_t content = position;
      position += length;
      WEIR_TRY(apply(message, field, wire_type, {start, content, position}, out, payload, depth));
    }
    if (payload) {
      append_payload(std::move(*payload), out);
    }
    return {};
  }

  struct Field {
    size_t start;    // of its tag
    size_t content;  // behind tag and length
    size_t end;
  };

  Result<void> apply(Message message, uint32_t number, uint32_t wire_type, Field field, std::string& out,
                     std::optional<TensorPayload>& payload, int depth) {
    const Rule rule = rule_of(message, number);
    switch (rule.action) {
      case Action::kDrop:
        return {};
      case Action::kDescend: {
        if (wire_type != kLengthDelimited) {
          return broken(field.start, fmt::format("field ({}) is a number instead of a message", number));
        }
        std::string nested;
        WEIR_TRY(rewrite(rule.message, field.content, field.end, nested, depth + 1));
        WEIR_TRY(require_room(nested.size(), out));
        append_length_delimited(number, nested, out);
        return {};
      }
      case Action::kPayload:
        if (wire_type == kLengthDelimited) {
          const auto kind = static_cast<TensorPayload::Field>(number);
          if (payload && payload->field != kind) {
            return broken(field.start, "a tensor holds its elements twice");
          }
          if (!payload) {
            payload = TensorPayload{kind, {}};
          }
          if (kind == TensorPayload::Field::kRaw) {
            payload->chunks.clear();  // the last one counts, as for every single field
          }
          payload->chunks.push_back(
              {static_cast<int64_t>(field.content), static_cast<int64_t>(field.end - field.content)});
          return {};
        }
        [[fallthrough]];  // an element on its own, which protobuf collects
      case Action::kCopy:
        WEIR_TRY(require_room(field.end - field.start, out));
        out.append(reinterpret_cast<const char*>(model_.data()) + field.start, field.end - field.start);
        return {};
    }
    return {};
  }

  // Whether the structure may take so many bytes more, but for a tag and a length.
  static Result<void> require_room(size_t bytes, const std::string& out) {
    if (out.size() + bytes > kMaxMessageBytes) {
      return fail(StatusCode::kResourceExhausted,
                  "The model has more than ({}) bytes beside its tensors' elements, and that is the most.",
                  kMaxMessageBytes);
    }
    return {};
  }

  void append_payload(TensorPayload payload, std::string& out) {
    const auto index = static_cast<uint32_t>(result_.payloads.size());
    std::string encoded(sizeof(index), '\0');
    std::memcpy(encoded.data(), &index, sizeof(index));
    append_length_delimited(static_cast<uint32_t>(TensorPayload::Field::kRaw), encoded, out);
    result_.payloads.push_back(std::move(payload));
  }

  std::span<const std::byte> model_;
  int64_t messages_ = 0;
  int64_t fields_ = 0;
  StrippedModel result_;
};

}  // namespace

Result<StrippedModel> strip_payloads(std::span<const std::byte> model) {
  return Scanner(model).run();
}

std::optional<size_t> payload_index(std::string_view raw_data) {
  uint32_t index = 0;
  if (raw_data.size() != sizeof(index)) {
    return std::nullopt;
  }
  std::memcpy(&index, raw_data.data(), sizeof(index));
  return index;
}

std::optional<uint64_t> read_varint(std::span<const std::byte> bytes, size_t& position) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (position >= bytes.size()) {
      return std::nullopt;
    }
    const auto byte = static_cast<uint64_t>(bytes[position++]);
    if (shift == 63 && byte > 1) {
      return std::nullopt;
    }
    value |= (byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) {
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace weir::onnx_import
