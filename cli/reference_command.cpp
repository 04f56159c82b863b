// lowtide completion and lowtide man: what the program knows of its own options.
#include <cstdio>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/reference/reference.h"

namespace lowtide::cli {

void add_completion(CLI::App& app, Action& action) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* const command =
      app.add_subcommand("completion", "Print what completes options in a shell");
  command->add_option("shell", *shell, "For which shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("bash|zsh|fish");
  command->callback([shell, &app, &action] {
    action = [shell, &app] {
      const std::vector<CommandText> commands = describe(app);
      const std::string text = *shell == "bash"  ? bash_completion(commands)
                               : *shell == "zsh" ? zsh_completion(commands)
                                                 : fish_completion(commands);
      std::fputs(text.c_str(), stdout);
      return 0;
    };
  });
}

void add_man(CLI::App& app, Action& action, const std::string& version) {
  CLI::App* const command =
      app.add_subcommand("man", "Print the manual page: lowtide man | man -l -");
  const auto markdown = std::make_shared<bool>(false);
  command->add_flag("--markdown", *markdown, "In Markdown, as in docs/options.md");
  command->callback([markdown, &app, &action, version] {
    action = [markdown, &app, version] {
      const std::vector<CommandText> commands = describe(app);
      std::fputs((*markdown ? options_page(commands) : manual(commands, version)).c_str(), stdout);
      return 0;
    };
  });
}

}  // namespace lowtide::cli
