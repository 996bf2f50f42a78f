// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/import.h"

#include <fmt/ranges.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/file_system.h"
#include "base/mapped_file.h"
#include "import/onnx/converters.h"
#include "import/onnx/limits.h"
#include "import/onnx/lowering.h"
#include "import/onnx/model_inputs.h"
#include "import/onnx/node_order.h"
#include "import/onnx/tensor_reader.h"
#include "import/onnx/wire.h"

namespace weir {
namespace onnx_import {
namespace {

std::string_view domain_of(const std::string& domain) {
  return domain == "ai.onnx" ? std::string_view() : std::string_view(domain);
}

std::string_view domain_name(std::string_view domain) {
  return domain.empty() ? "ai.onnx" : domain;
}

class Importer {
 public:
  Importer(const onnx::ModelProto& model, TensorReader reader, const ImportOptions& options)
      : model_(model), options_(options), reader_(std::move(reader)) {}

  Result<Graph> run() {
    WEIR_TRY(read_opsets());
    const onnx::GraphProto& proto = model_.graph();
    if (proto.input_size() - proto.initializer_size() > kMaxPorts || proto.output_size() > kMaxPorts) {
      return fail(StatusCode::kResourceExhausted,
                  "The model has ({}) inputs and ({}) outputs, and ({}) are the most.", proto.input_size(),
                  proto.output_size(), kMaxPorts);
    }
    Graph graph;
    graph.name = proto.name();
    for (const onnx::StringStringEntryProto& entry : model_.metadata_props()) {
      graph.metadata.emplace_back(entry.key(), entry.value());
    }
    Lowering lowering(graph, reader_, options_.swappable);
    lowering_ = &lowering;
    lowering.push_scope();
    WEIR_TRY(add_inputs(proto, options_, lowering));
    WEIR_TRY(lower_graph(proto));
    if (unsupported_count_ > 0) {
      return std::unexpected(unsupported_error());
    }
    std::vector<NamedValue> outputs;
    std::unordered_set<std::string_view> names;
    for (const onnx::ValueInfoProto& output : proto.output()) {
      if (!names.insert(output.name()).second) {
        return fail(StatusCode::kInvalidArgument, "The model has two outputs of name '{}'.", output.name());
      }
      WEIR_ASSIGN(const ValueId id, lowering.materialise(*lowering.find(output.name())),
                  "while importing output '{}'", output.name());
      outputs.push_back({output.name(), id});
    }
    graph.set_outputs(std::move(outputs));
    WEIR_TRY(lowering.finish_constants());
    graph.remove_unused();
    WEIR_TRY(verify(graph));
    graph.reads_other_files = reader_.has_read_other_files();
    return graph;
  }

 private:
  Result<void> read_opsets() {
    for (const onnx::OperatorSetIdProto& opset : model_.opset_import()) {
      versions_[std::string(domain_of(opset.domain()))] = opset.version();
    }
    const auto own = versions_.find("");
    if (own == versions_.end()) {
      return fail(StatusCode::kInvalidArgument, "The model names no version of ONNX's operators.");
    }
    if (own->second < kOldestOpset || own->second > kNewestOpset) {
      return fail(StatusCode::kUnimplemented, "The model uses opset ({}), and ({}) to ({}) are supported.",
                  own->second, kOldestOpset, kNewestOpset);
    }
    return {};
  }

  // Initialisers and nodes of a graph, in the innermost scope.
  Result<void> lower_graph(const onnx::GraphProto& proto) {
    std::unordered_map<std::string_view, const onnx::TensorProto*> constants;
    for (const onnx::TensorProto& initializer : proto.initializer()) {
      if (!constants.emplace(initializer.name(), &initializer).second) {
        return fail(StatusCode::kInvalidArgument, "The model has two initialisers of name '{}'.",
                    initializer.name());
      }
    }
    std::unordered_set<std::string_view> sparse;
    for (const onnx::SparseTensorProto& initializer : proto.sparse_initializer()) {
      sparse.insert(initializer.values().name());
    }
    WEIR_ASSIGN(const NodeOrder order, order_nodes(proto, [&](std::string_view name) {
                  return constants.contains(name) || sparse.contains(name) ||
                         lowering_->find(name) != nullptr;
                }));
    for (const onnx::TensorProto& initializer : proto.initializer()) {
      if (order.needed.contains(initializer.name())) {
        WEIR_ASSIGN(ImportedValue value, lowering_->constant_value(initializer, initializer.name()));
        WEIR_TRY(lowering_->define(initializer.name(), std::move(value)));
      }
    }
    for (std::string_view name : sparse) {
      if (order.needed.contains(std::string(name))) {
        return fail(StatusCode::kUnimplemented, "Initialiser '{}' is sparse, and dense ones are supported.",
                    name);
      }
    }
    for (int position : order.nodes) {
      WEIR_TRY(lower_node(proto.node(position), order));
    }
    return {};
  }

  Result<void> lower_node(const onnx::NodeProto& proto, const NodeOrder& order) {
    const std::string label = node_label(proto);
    if (++node_count_ > kMaxNodes) {
      return fail(StatusCode::kResourceExhausted,
                  "The model has more than ({}) nodes, branches included, and that is the most.", kMaxNodes);
    }
    if (proto.input_size() > kMaxOperands || proto.output_size() > kMaxOperands) {
      return fail(StatusCode::kResourceExhausted,
                  "Node '{}' has ({}) inputs and ({}) outputs, and ({}) are the most.", label,
                  proto.input_size(), proto.output_size(), kMaxOperands);
    }
    std::vector<ImportedValue*> inputs;
    bool blocked = false;
    for (const std::string& name : proto.input()) {
      inputs.push_back(name.empty() ? nullptr : lowering_->find(name));
      blocked = blocked || (inputs.back() != nullptr && inputs.back()->unsupported);
    }
    std::vector<bool> wanted;
    for (const std::string& name : proto.output()) {
      wanted.push_back(!name.empty() && order.needed.contains(name));
    }
    const std::string_view domain = domain_of(proto.domain());
    const auto imported = versions_.find(std::string(domain));
    const int64_t version = imported == versions_.end() ? 1 : imported->second;
    const std::shared_ptr<const CustomOperator> custom =
        options_.operators == nullptr ? nullptr : options_.operators->find(domain, proto.op_type());
    if (blocked) {
      // What it takes is not known, so only the operator itself can be looked at.
      const bool is_control_flow = proto.op_type() == "If" && domain.empty();
      if (!is_control_flow && custom == nullptr &&
          find_converter(domain, proto.op_type(), version) == nullptr) {
        report_unsupported(proto, label, domain, version, inputs, unsupported_operator());
        any_unknown_ = true;
      } else {
        ++unexamined_count_;
      }
      return define_unsupported(proto, label);
    }
    const std::string context = fmt::format("while importing node '{}' ({}, {} {})", label, proto.op_type(),
                                            domain_name(domain), version);
    Result<void> lowered = {};
    if (custom != nullptr) {
      NodeLowering node(*lowering_, proto, label, version, inputs, std::move(wanted));
      lowered = convert_custom(node, domain_name(domain), custom);
      if (lowered) {
        lowered = node.finish();
      }
    } else if (proto.op_type() == "If" && domain.empty()) {
      lowered = lower_if(proto, inputs);
    } else if (const Converter* converter = find_converter(domain, proto.op_type(), version)) {
      NodeLowering node(*lowering_, proto, label, version, inputs, std::move(wanted));
      lowered = converter->convert(node);
      if (lowered) {
        lowered = node.finish();
      }
    } else {
      lowered = std::unexpected(unsupported_operator());
      any_unknown_ = true;
    }
    if (!lowered && lowered.error().code() == StatusCode::kUnimplemented) {
      report_unsupported(proto, label, domain, version, inputs, lowered.error());
      return define_unsupported(proto, label);
    }
    WEIR_TRY(std::move(lowered), "{}", context);
    return {};
  }

  // A branch whose condition follows from shapes and constants takes the node's place.
  Result<void> lower_if(const onnx::NodeProto& proto, const std::vector<ImportedValue*>& inputs) {
    if (inputs.empty() || inputs[0] == nullptr) {
      return fail(StatusCode::kInvalidArgument, "If lacks input (0), its condition.");
    }
    if (inputs.size() != 1) {
      return fail(StatusCode::kInvalidArgument, "If has ({}) inputs, and takes its condition alone.",
                  inputs.size());
    }
    const Known* condition = lowering_->known(*inputs[0]);
    if (condition == nullptr || condition->elements.size() != 1 ||
        !condition->elements[0].numerator.is_constant()) {
      return fail(StatusCode::kUnimplemented,
                  "The condition depends on data, and it has to follow from shapes and constants.");
    }
    const std::string_view name =
        condition->elements[0].numerator.is_constant(0) ? "else_branch" : "then_branch";
    const onnx::GraphProto* branch = nullptr;
    for (const onnx::AttributeProto& attribute : proto.attribute()) {
      if (attribute.name() == name && attribute.has_g()) {
        branch = &attribute.g();
      }
    }
    if (branch == nullptr) {
      return fail(StatusCode::kInvalidArgument,
                  "If lacks attribute '{}', the branch that its condition takes.", name);
    }
    if (branch->output_size() != proto.output_size()) {
      return fail(StatusCode::kInvalidArgument, "If has ({}) outputs, and its {} gives ({}).",
                  proto.output_size(), name, branch->output_size());
    }
    lowering_->push_scope();
    WEIR_TRY(lower_graph(*branch), "while importing the {}", name);
    std::vector<ImportedValue*> results;
    for (const onnx::ValueInfoProto& output : branch->output()) {
      results.push_back(lowering_->find(output.name()));
    }
    lowering_->pop_scope();
    for (int i = 0; i < proto.output_size(); ++i) {
      if (!proto.output(i).empty()) {
        WEIR_TRY(lowering_->define_alias(proto.output(i), results[static_cast<size_t>(i)]));
      }
    }
    return {};
  }

  Result<void> define_unsupported(const onnx::NodeProto& proto, const std::string& label) {
    for (const std::string& output : proto.output()) {
      if (output.empty()) {
        continue;
      }
      ImportedValue value;
      value.name = output;
      value.producer = fmt::format("{} '{}'", proto.op_type(), label);
      value.unsupported = true;
      WEIR_TRY(lowering_->define(output, std::move(value)));
    }
    return {};
  }

  void report_unsupported(const onnx::NodeProto& proto, const std::string& label, std::string_view domain,
                          int64_t version, const std::vector<ImportedValue*>& inputs, const Status& reason) {
    ++unsupported_count_;
    ++unsupported_operators_[fmt::format("{}.{}", domain_name(domain), proto.op_type())];
    if (options_.unsupported != nullptr) {
      options_.unsupported->nodes.push_back({proto.op_type(), std::string(domain_name(domain)), version,
                                             label, std::string(reason.message()),
                                             reason.message() == unsupported_operator().message()});
    }
    constexpr size_t kMostListed = 40;
    if (unsupported_.size() >= kMostListed) {
      return;
    }
    std::vector<std::string> operands;
    for (const ImportedValue* input : inputs) {
      operands.push_back(input == nullptr     ? "none"
                         : input->unsupported ? fmt::format("'{}' from {}", input->name, input->producer)
                                              : fmt::format("'{}' {} from {}", input->name,
                                                            input->type.to_string(), input->producer));
    }
    unsupported_.push_back(fmt::format(
        "{} ({} {}) '{}' of {}: {}", proto.op_type(), domain_name(domain), version, label,
        operands.empty() ? "no inputs" : fmt::format("{}", fmt::join(operands, ", ")), reason.message()));
  }

  static Status unsupported_operator() {
    return {StatusCode::kUnimplemented, "The operator is not supported."};
  }

  Status unsupported_error() const {
    if (options_.unsupported != nullptr) {
      options_.unsupported->unexamined = unexamined_count_;
    }
    std::vector<std::string> operators;
    for (const auto& [name, count] : unsupported_operators_) {
      operators.push_back(fmt::format("{} × {}", count, name));
    }
    Status status(StatusCode::kUnimplemented,
                  fmt::format("The model has ({}) nodes that are not supported: {}.", unsupported_count_,
                              fmt::join(operators, ", ")));
    for (const std::string& line : unsupported_) {
      status.add_context(line);
    }
    if (unsupported_count_ > unsupported_.size()) {
      status.add_context(fmt::format("and ({}) more", unsupported_count_ - unsupported_.size()));
    }
    if (unexamined_count_ > 0) {
      status.add_context(
          fmt::format("and ({}) nodes of supported operators depend on these and could not be examined",
                      unexamined_count_));
    }
    if (any_unknown_) {
      status.add_context(
          "an operator of your own takes the place of one that is not supported: register it with "
          "weir_runtime_register_operator, or with --operators on the command line");
    }
    return status;
  }

  const onnx::ModelProto& model_;
  const ImportOptions& options_;
  TensorReader reader_;
  Lowering* lowering_ = nullptr;
  std::map<std::string, int64_t> versions_;
  int64_t node_count_ = 0;  // lowered so far
  size_t unsupported_count_ = 0;
  size_t unexamined_count_ = 0;  // behind unsupported ones
  bool any_unknown_ = false;     // rather than known in other forms only
  std::map<std::string, int> unsupported_operators_;
  std::vector<std::string> unsupported_;
};

Result<Graph> import_bytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                           std::vector<std::string> folders, const ImportOptions& options) {
  StrippedModel stripped;
  // In an arena, because the parser forgets what it has half made when its memory runs out.
  google::protobuf::Arena arena;
  onnx::ModelProto& model = *google::protobuf::Arena::CreateMessage<onnx::ModelProto>(&arena);
  {
    const TraceSpan span(options.trace, "parse");
    WEIR_ASSIGN(stripped, strip_payloads(bytes));
    if (!model.ParseFromString(stripped.message)) {
      return fail(StatusCode::kDataLoss,
                  "The model is cut off or is no ONNX file: protobuf can't read its structure.");
    }
  }
  if (!model.has_graph() || model.opset_import_size() == 0) {
    return fail(StatusCode::kInvalidArgument, "The file is no ONNX model: it has {}.",
                model.has_graph() ? "no operator sets" : "no graph");
  }
  stripped.message = std::string();
  const TraceSpan span(options.trace, "lower to operators");
  TensorReader reader(bytes, std::move(owner), std::move(stripped.payloads), std::move(folders));
  return Importer(model, std::move(reader), options).run();
}

// The folder of the path, and of the file that it leads to.
std::vector<std::string> folders_of(const std::string& path) {
  std::vector<std::string> folders = {folder_of(path)};
  if (const std::optional<std::string> real = real_path(path)) {
    folders.push_back(folder_of(*real));
  }
  return folders;
}

}  // namespace
}  // namespace onnx_import

Result<Graph> import_onnx(const std::string& path, const ImportOptions& options) {
  WEIR_ASSIGN(const std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  WEIR_ASSIGN(Graph graph,
              onnx_import::import_bytes(file->bytes(), file, onnx_import::folders_of(path), options),
              "while importing model '{}'", path);
  return graph;
}

Result<Graph> import_onnx(std::span<const std::byte> model, std::shared_ptr<const void> owner,
                          const ImportOptions& options) {
  return onnx_import::import_bytes(model, std::move(owner), {}, options);
}

}  // namespace weir
