#pragma once

#include <string>

#include "balancer/manual/command_text.hpp"

namespace karmad {

/// Completion of the program's commands, options and file names, as a file for the shell of that
/// name. Names of commands and options consist of letters, digits and `-`.
std::string bash_completion(const CommandText& program);
std::string zsh_completion(const CommandText& program);
std::string fish_completion(const CommandText& program);

}  // namespace karmad
