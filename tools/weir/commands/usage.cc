// SPDX-License-Identifier: Apache-2.0
#include "tools/weir/commands/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "tools/weir/commands/arguments.h"
#include "tools/weir/commands/suggest.h"

namespace weir::cli {
namespace {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

// What is wrong with the first argument that the command did not take, where it is an option; else "".
std::string unknown_option(const CLI::App& app) {
  if (app.get_subcommands().empty()) {
    return "";
  }
  const CLI::App& command = *app.get_subcommands().front();
  const std::vector<std::string> extras = command.remaining();
  const auto extra =
      std::ranges::find_if(extras, [](const std::string& text) { return text.starts_with('-'); });
  if (extra == extras.end()) {
    return "";
  }
  const std::string typed = extra->substr(0, extra->find('='));
  std::string help;
  if (const std::string meant = nearest(typed, option_names(command)); !meant.empty()) {
    help = fmt::format(" (did you mean '{}'?)", meant);
  } else {
    std::vector<std::string> others;
    for (const CLI::App* other : app.get_subcommands([](const CLI::App*) { return true; })) {
      if (std::ranges::count(option_names(*other), typed) > 0) {
        others.push_back(other->get_name());
      }
    }
    help = others.empty()
               ? ""
               : fmt::format(" ({} {})", quoted_list(others), others.size() > 1 ? "have it" : "has it");
  }
  return fmt::format("Command '{}' has no option '{}'{}.", command.get_name(), typed, help);
}

// What of a command is missing; "" where it is another requirement.
std::string missing_argument(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_required() || option->count() > 0) {
      continue;
    }
    std::string meaning = option->get_description();
    if (!meaning.empty()) {
      meaning[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(meaning[0])));
    }
    return fmt::format("Command '{}' needs '{}': {}.", command.get_name(), option->get_name(), meaning);
  }
  return "";
}

// The option that stands last on a command line without its value; "" where the parser means something else.
std::string missing_value(const CLI::App& command, std::string_view said) {
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional() && said.starts_with(option->get_name() + ": ")) {
      return fmt::format("Option '{}' needs a value, as in '{} {}'.", option->get_name(), option->get_name(),
                         option->get_option_text());
    }
  }
  return "";
}

}  // namespace

std::string unknown_command(const CLI::App& app, std::string_view typed) {
  const std::vector<std::string> names = command_names(app);
  if (typed.starts_with('-') || std::ranges::find(names, typed) != names.end()) {
    return "";
  }
  const std::string meant = nearest(typed, names);
  return fmt::format("There is no command '{}'{}; the commands are {}.", typed,
                     meant.empty() ? "" : fmt::format(" (did you mean '{}'?)", meant), quoted_list(names));
}

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  if (app.get_subcommands().empty()) {
    return fmt::format("No command is given; the commands are {}.", quoted_list(command_names(app)));
  }
  const CLI::App& command = *app.get_subcommands().front();
  std::string sentence = unknown_option(app);
  if (sentence.empty() && error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError)) {
    sentence = missing_argument(command);
  }
  if (sentence.empty() && error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ArgumentMismatch)) {
    sentence = missing_value(command, error.what());
  }
  if (const std::vector<std::string> extras = command.remaining(); sentence.empty() && !extras.empty()) {
    sentence = fmt::format("Command '{}' takes no argument '{}' beside those that are given before it.",
                           command.get_name(), extras.front());
  }
  return sentence.empty() ? error.what() : sentence;
}

}  // namespace weir::cli
