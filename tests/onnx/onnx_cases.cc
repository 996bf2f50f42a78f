// SPDX-License-Identifier: Apache-2.0
//
// Runs test cases of ONNX operators: each is a folder with model.onnx, in_N.pb and out_N.pb.
//
//   onnx_cases LIST      a line a case: folder, relative and absolute tolerance
//
// Prints a line a case, "name<TAB>pass" or "name<TAB>what went wrong".
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "import/onnx/import.h"
#include "import/onnx/tensor_reader.h"
#include "import/testing/evaluate.h"

namespace weir {
namespace {

using testing::Array;

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return fail(StatusCode::kNotFound, "File '{}' cannot be opened.", path);
  }
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

Result<Array> read_array(const std::string& path) {
  WEIR_ASSIGN(const std::string bytes, read_file(path));
  onnx::TensorProto tensor;
  if (!tensor.ParseFromString(bytes)) {
    return fail(StatusCode::kDataLoss, "File '{}' holds no tensor.", path);
  }
  WEIR_ASSIGN(const TensorType type, onnx_import::TensorReader::type_of(tensor));
  Array array =
      Array::zeros(type.element_type, {tensor.dims().data(), static_cast<size_t>(tensor.dims_size())});
  if (array.bytes.size() != tensor.raw_data().size()) {
    return fail(StatusCode::kDataLoss, "File '{}' holds ({}) bytes.", path, tensor.raw_data().size());
  }
  std::ranges::copy(std::as_bytes(std::span(tensor.raw_data())), array.bytes.begin());
  return array;
}

Result<std::vector<Array>> read_arrays(const std::string& folder, const std::string& stem) {
  std::vector<Array> arrays;
  for (int number = 0;; ++number) {
    const std::string path = fmt::format("{}/{}_{}.pb", folder, stem, number);
    if (!std::filesystem::exists(path)) {
      return arrays;
    }
    WEIR_ASSIGN(arrays.emplace_back(), read_array(path));
  }
}

template <typename T>
Result<void> compare_elements(const Array& got, const Array& want, double rtol, double atol) {
  const std::vector<T> a = got.elements<T>();
  const std::vector<T> b = want.elements<T>();
  for (size_t i = 0; i < a.size(); ++i) {
    const auto x = static_cast<double>(a[i]);
    const auto y = static_cast<double>(b[i]);
    const bool same =
        x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= atol + rtol * std::abs(y);
    if (!same) {
      return fail(StatusCode::kInternal, "Element ({}) is ({}), and ({}) is expected.", i, x, y);
    }
  }
  return {};
}

Result<void> compare(const Array& got, const Array& want, double rtol, double atol) {
  if (got.spec != want.spec) {
    return fail(StatusCode::kInternal, "The result is ({}), and ({}) is expected.", got.spec.to_string(),
                want.spec.to_string());
  }
  switch (got.spec.type) {
    case ElementType::kFloat32:
      return compare_elements<float>(got, want, rtol, atol);
    case ElementType::kFloat64:
      return compare_elements<double>(got, want, rtol, atol);
    default:
      if (got.bytes != want.bytes) {
        return fail(StatusCode::kInternal, "The {} elements differ.", to_string(got.spec.type));
      }
      return {};
  }
}

Result<void> run_case(const std::string& folder, double rtol, double atol) {
  WEIR_ASSIGN(const Graph graph, import_onnx(folder + "/model.onnx"));
  WEIR_ASSIGN(const std::vector<Array> inputs, read_arrays(folder, "in"));
  WEIR_ASSIGN(const std::vector<Array> expected, read_arrays(folder, "out"));
  WEIR_ASSIGN(const std::vector<Array> outputs, testing::evaluate(graph, inputs));
  if (outputs.size() != expected.size()) {
    return fail(StatusCode::kInternal, "There are ({}) results, and ({}) are expected.", outputs.size(),
                expected.size());
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    WEIR_TRY(compare(outputs[i], expected[i], rtol, atol), "while comparing output ({})", i);
  }
  return {};
}

int run(const char* list) {
  std::ifstream cases(list);
  std::string folder;
  double rtol = 0;
  double atol = 0;
  while (cases >> folder >> rtol >> atol) {
    const Result<void> result = run_case(folder, rtol, atol);
    std::string verdict = result ? "pass" : result.error().to_string();
    std::ranges::replace(verdict, '\n', ' ');
    std::cout << std::filesystem::path(folder).filename().string() << '\t' << verdict << '\n' << std::flush;
  }
  return cases.eof() ? 0 : 1;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: onnx_cases LIST\n";
    return 2;
  }
  return weir::run(argv[1]);
}
