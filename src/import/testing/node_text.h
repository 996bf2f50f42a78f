// SPDX-License-Identifier: Apache-2.0
//
// Models of one node, written as one line:
//
//   13 Conv(float[1,3,h,8], float*[4,3,3,3], , pads=[1,1,1,1], auto_pad="VALID")
//   18 Split(int64{1,2,3}, num_outputs=2) -> y, z
//
// The version of the operator set comes first. An operand is an input of the model (`float[2,n]`), a constant
// (`int64{1,-2}` is a list, `bool(1)` a scalar, `float*[2,3]` a tensor of ones), the shape of an input
// (`shape[2,n]`), or nothing where it is absent. They are named a, b, c, … by their position, the node is
// 'node', and its only output, where no others are written, is y.
//
// An attribute is an integer, a number with a point, a text in quotes, a list of one of these, or a constant.
#pragma once

#include <string_view>

#include "import/testing/model_builder.h"

namespace weir::testing {

ModelBuilder model_of(std::string_view text);

}  // namespace weir::testing
