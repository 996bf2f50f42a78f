// SPDX-License-Identifier: Apache-2.0
#include "program/metadata.h"

#include <flatbuffers/flatbuffers.h>

#include <cstring>
#include <utility>

#include "program_generated.h"

namespace weir::internal {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

template <typename T>
using Table = flatbuffers::Vector<Offset<T>>;

class Encoder {
 public:
  std::vector<std::byte> encode(const Program& p) {
    const auto name = string(p.name);
    const auto target = string(p.target);
    const auto metadata = tables<fbs::Pair>(p.metadata, [&](const auto& pair) {
      const auto key = string(pair.first);
      return fbs::CreatePair(builder_, key, string(pair.second));
    });
    const auto symbols = tables<fbs::Symbol>(p.symbols, [&](const ProgramSymbol& s) {
      return fbs::CreateSymbol(builder_, string(s.name), s.range.min, s.range.max,
                               static_cast<uint8_t>(s.source.kind), s.source.input, s.source.index);
    });
    const auto dims = structs<fbs::DimEntry>(p.dims, [](const DimTableEntry& e) {
      return fbs::DimEntry(static_cast<uint8_t>(e.op), e.a, e.b, e.c, e.value, e.scale);
    });
    const auto constraints = tables<fbs::Constraint>(p.constraints, [&](const ProgramConstraint& c) {
      return fbs::CreateConstraint(builder_, static_cast<uint8_t>(c.kind), c.a, c.b, string(c.what));
    });
    const auto storages = tables<fbs::Storage>(p.storages, [&](const Storage& s) {
      return fbs::CreateStorage(builder_, static_cast<uint8_t>(s.kind), s.bytes, s.first_step, s.last_step,
                                s.offset, s.index, string(s.pack_id), s.hash);
    });
    const auto tensors = tables<fbs::Tensor>(p.tensors, [&](const ProgramTensor& t) {
      const auto label = string(t.name);
      const auto shape = numbers(t.shape);
      const auto strides = numbers(t.strides);
      return fbs::CreateTensor(builder_, label, static_cast<uint8_t>(t.element_type), shape, strides,
                               t.offset, t.storage);
    });
    const auto prepare_steps = steps(p.prepare_steps);
    const auto run_steps = steps(p.steps);
    const auto inputs = ports(p.inputs);
    const auto outputs = ports(p.outputs);
    const auto notices = tables<fbs::Notice>(p.notices, [&](const ProgramNotice& n) {
      const auto what = string(n.what);
      return fbs::CreateNotice(builder_, static_cast<uint8_t>(n.kind), what, string(n.reason), n.bytes);
    });
    const auto order = numbers(p.placement_order);
    const auto states = tables<fbs::State>(p.states, [&](const ProgramState& s) {
      const auto input = string(s.name);
      return fbs::CreateState(builder_, input, string(s.output), s.before, s.after);
    });
    const auto constants = tables<fbs::Constant>(p.constants, [&](const ProgramConstant& c) {
      return fbs::CreateConstant(builder_, string(c.name), static_cast<uint8_t>(c.fate), c.tensor);
    });
    builder_.Finish(fbs::CreateProgram(builder_, name, target, metadata, symbols, dims, constraints, storages,
                                       tensors, prepare_steps, run_steps, inputs, outputs, notices, order,
                                       p.arena_bytes, p.activation_bytes, p.unfused_bound_bytes,
                                       p.constant_bytes, p.source_hash, states, constants));
    std::vector<std::byte> bytes(builder_.GetSize());
    std::memcpy(bytes.data(), builder_.GetBufferPointer(), bytes.size());
    return bytes;
  }

 private:
  // What is empty is left out.
  Offset<flatbuffers::String> string(const std::string& text) {
    return text.empty() ? 0 : builder_.CreateString(text);
  }
  template <typename T>
  Offset<flatbuffers::Vector<T>> numbers(const std::vector<T>& values) {
    return values.empty() ? 0 : builder_.CreateVector(values);
  }
  template <typename F, typename T, typename Make>
  Offset<Table<F>> tables(const std::vector<T>& values, Make make) {
    std::vector<Offset<F>> offsets;
    offsets.reserve(values.size());
    for (const T& value : values) {
      offsets.push_back(make(value));
    }
    return values.empty() ? 0 : builder_.CreateVector(offsets);
  }
  template <typename F, typename T, typename Make>
  Offset<flatbuffers::Vector<const F*>> structs(const std::vector<T>& values, Make make) {
    std::vector<F> made;
    made.reserve(values.size());
    for (const T& value : values) {
      made.push_back(make(value));
    }
    return values.empty() ? 0 : builder_.CreateVectorOfStructs(made);
  }
  Offset<Table<fbs::Port>> ports(const std::vector<ProgramPort>& values) {
    return tables<fbs::Port>(values, [&](const ProgramPort& port) {
      return fbs::CreatePort(builder_, string(port.name), port.tensor);
    });
  }
  Offset<Table<fbs::Step>> steps(const std::vector<Step>& values) {
    return tables<fbs::Step>(values, [&](const Step& s) {
      const auto name = string(s.name);
      const auto origin = string(s.origin);
      const auto integers = numbers(s.attributes.integers);
      const auto reals = numbers(s.attributes.reals);
      const auto dims = numbers(s.attributes.dims);
      const auto inputs = numbers(s.inputs);
      const auto outputs = numbers(s.outputs);
      const auto packed = structs<fbs::PackedOperand>(s.packed, [](const PackedOperand& operand) {
        return fbs::PackedOperand(operand.input, operand.storage);
      });
      const auto implementations = tables<fbs::Name>(s.implementations, [&](const std::string& text) {
        return fbs::CreateName(builder_, string(text));
      });
      const auto refused = tables<fbs::Refusal>(s.refused, [&](const Refusal& refusal) {
        const auto implementation = string(refusal.implementation);
        return fbs::CreateRefusal(builder_, implementation, string(refusal.reason));
      });
      const auto strings = tables<fbs::Name>(s.attributes.strings, [&](const std::string& text) {
        return fbs::CreateName(builder_, string(text));
      });
      return fbs::CreateStep(builder_, name, origin, static_cast<uint8_t>(s.op), integers, reals, dims,
                             inputs, outputs, packed, implementations, refused, s.workspace, s.reference,
                             strings);
    });
  }

  FlatBufferBuilder builder_;
};

// Several offsets of a lying buffer may name one table or list. What an honest buffer holds is counted down
// from its size, so such a one ends in an error before it takes much memory.
class Decoder {
 public:
  explicit Decoder(size_t bytes) : left_(bytes) {}

  bool overdrawn() const { return overdrawn_; }

  Program program(const fbs::Program& p) {
    Program out;
    out.name = string(p.name());
    out.target = string(p.target());
    out.metadata = list(p.metadata(), [&](const fbs::Pair& pair) {
      return std::pair(string(pair.key()), string(pair.value()));
    });
    out.symbols = list(p.symbols(), [&](const fbs::Symbol& s) {
      return ProgramSymbol{
          string(s.name()),
          {s.min(), s.max()},
          {static_cast<SymbolSource::Kind>(s.source_kind()), s.source_input(), s.source_index()}};
    });
    out.dims = structs(p.dims(), [&](const fbs::DimEntry& e) {
      return DimTableEntry{static_cast<DimOp>(e.op()), e.a(), e.b(), e.c(), e.value(), e.scale()};
    });
    out.constraints = list(p.constraints(), [&](const fbs::Constraint& c) {
      return ProgramConstraint{static_cast<Constraint::Kind>(c.kind()), c.a(), c.b(), string(c.what())};
    });
    out.storages = list(p.storages(), [&](const fbs::Storage& s) {
      return Storage{static_cast<StorageKind>(s.kind()),
                     s.bytes(),
                     s.first_step(),
                     s.last_step(),
                     s.offset(),
                     s.index(),
                     string(s.pack_id()),
                     s.hash()};
    });
    out.tensors = list(p.tensors(), [&](const fbs::Tensor& t) {
      return ProgramTensor{string(t.name()),   static_cast<ElementType>(t.element_type()),
                           numbers(t.shape()), numbers(t.strides()),
                           t.offset(),         t.storage()};
    });
    out.prepare_steps = steps(p.prepare_steps());
    out.steps = steps(p.steps());
    out.inputs = ports(p.inputs());
    out.outputs = ports(p.outputs());
    out.notices = list(p.notices(), [&](const fbs::Notice& n) {
      return ProgramNotice{static_cast<NoticeKind>(n.kind()), string(n.what()), string(n.reason()),
                           n.bytes()};
    });
    out.placement_order = numbers(p.placement_order());
    out.arena_bytes = p.arena_bytes();
    out.activation_bytes = p.activation_bytes();
    out.unfused_bound_bytes = p.unfused_bound_bytes();
    out.constant_bytes = p.constant_bytes();
    out.source_hash = p.source_hash();
    out.states = list(p.states(), [&](const fbs::State& s) {
      return ProgramState{string(s.name()), string(s.output()), s.before(), s.after()};
    });
    out.constants = list(p.constants(), [&](const fbs::Constant& c) {
      return ProgramConstant{string(c.name()), static_cast<ConstantFate>(c.fate()), c.tensor()};
    });
    return out;
  }

 private:
  bool take(size_t bytes) {
    if (overdrawn_ || bytes > left_) {
      overdrawn_ = true;
      return false;
    }
    left_ -= bytes;
    return true;
  }

  std::string string(const flatbuffers::String* text) {
    if (text == nullptr || !take(sizeof(uint32_t) + text->size())) {
      return {};
    }
    return text->str();
  }
  // Elements of lists are copied byte by byte: the verifier of FlatBuffers looks at the alignment of a list's
  // length, not of elements that are wider.
  template <typename T>
  std::vector<T> numbers(const flatbuffers::Vector<T>* values) {
    if (values == nullptr || !take(sizeof(uint32_t) + values->size() * sizeof(T))) {
      return {};
    }
    std::vector<T> out(values->size());
    if (!out.empty()) {
      std::memcpy(out.data(), values->Data(), out.size() * sizeof(T));
    }
    return out;
  }
  template <typename F, typename Make>
  auto structs(const flatbuffers::Vector<const F*>* values, Make make)
      -> std::vector<decltype(make(std::declval<const F&>()))> {
    std::vector<decltype(make(std::declval<const F&>()))> out;
    if (values == nullptr || !take(sizeof(uint32_t) + values->size() * sizeof(F))) {
      return out;
    }
    out.reserve(values->size());
    for (size_t i = 0; i < values->size(); ++i) {
      F element;
      std::memcpy(&element, values->Data() + i * sizeof(F), sizeof(F));
      out.push_back(make(element));
    }
    return out;
  }
  // Of tables.
  template <typename V, typename Make>
  auto list(const V* values, Make make) -> std::vector<decltype(make(*values->Get(0)))> {
    std::vector<decltype(make(*values->Get(0)))> out;
    if (values == nullptr || !take(sizeof(uint32_t) + values->size() * sizeof(typename V::value_type))) {
      return out;
    }
    out.reserve(values->size());
    for (flatbuffers::uoffset_t i = 0; i < values->size() && !overdrawn_; ++i) {
      out.push_back(make(*values->Get(i)));
    }
    return out;
  }
  std::vector<ProgramPort> ports(const Table<fbs::Port>* values) {
    return list(values,
                [&](const fbs::Port& port) { return ProgramPort{string(port.name()), port.tensor()}; });
  }
  std::vector<Step> steps(const Table<fbs::Step>* values) {
    return list(values, [&](const fbs::Step& s) {
      Step step;
      step.name = string(s.name());
      step.origin = string(s.origin());
      step.op = static_cast<Op>(s.op());
      step.attributes.integers = numbers(s.integers());
      step.attributes.reals = numbers(s.reals());
      step.attributes.dims = numbers(s.dims());
      step.attributes.strings = list(s.strings(), [&](const fbs::Name& name) { return string(name.text()); });
      step.inputs = numbers(s.inputs());
      step.outputs = numbers(s.outputs());
      step.packed = structs(s.packed(), [](const fbs::PackedOperand& operand) {
        return PackedOperand{operand.input(), operand.storage()};
      });
      step.implementations =
          list(s.implementations(), [&](const fbs::Name& name) { return string(name.text()); });
      step.refused = list(s.refused(), [&](const fbs::Refusal& refusal) {
        return Refusal{string(refusal.implementation()), string(refusal.reason())};
      });
      step.workspace = s.workspace();
      step.reference = s.reference();
      return step;
    });
  }

  size_t left_;
  bool overdrawn_ = false;
};

}  // namespace

Result<std::vector<std::byte>> encode_metadata(const Program& program) {
  std::vector<std::byte> bytes = Encoder().encode(program);
  if (bytes.size() > kMaxMetadataBytes) {
    return fail(StatusCode::kOutOfRange,
                "The metadata of program '{}' takes ({}) bytes, and ({}) is the most.", program.name,
                bytes.size(), kMaxMetadataBytes);
  }
  return bytes;
}

Result<Program> decode_metadata(std::span<const std::byte> bytes) {
  if (bytes.size() > kMaxMetadataBytes) {
    return fail(StatusCode::kDataLoss, "The metadata section has ({}) bytes, and ({}) is the most.",
                bytes.size(), kMaxMetadataBytes);
  }
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  // Program → steps → packed operands or refusals: nothing nests deeper.
  flatbuffers::Verifier::Options options;
  options.max_depth = 8;
  options.max_tables = static_cast<flatbuffers::uoffset_t>(bytes.size() / 4 + 1);  // a table takes 4 bytes
  options.check_alignment = true;
  flatbuffers::Verifier verifier(data, bytes.size(), options);
  if (!fbs::VerifyProgramBuffer(verifier)) {
    return fail(StatusCode::kDataLoss,
                "The metadata section of ({}) bytes is not a well-formed FlatBuffer of a program.",
                bytes.size());
  }
  Decoder decoder(bytes.size());
  Program program = decoder.program(*fbs::GetProgram(data));
  if (decoder.overdrawn()) {
    return fail(
        StatusCode::kDataLoss,
        "The metadata section of ({}) bytes refers to the same tables more than once, so that they pass "
        "its own size.",
        bytes.size());
  }
  return program;
}

}  // namespace weir::internal
