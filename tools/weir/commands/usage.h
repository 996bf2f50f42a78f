// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with a command line, in sentences: the parser's own words name neither the command nor the
// remedy.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace weir::cli {

// What is wrong with the first argument, where it is neither an option nor a command; else "".
std::string unknown_command(const CLI::App& app, std::string_view typed);

// What the parser refused, after it threw `error`. An option that is mistyped may be why another argument is
// missing, so it comes first.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace weir::cli
