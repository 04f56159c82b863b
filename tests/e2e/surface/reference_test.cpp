// Completion, the manual and the doctor: written from the program as it is.
#include <sched.h>

#include <cstddef>
#include <sstream>

#include <gtest/gtest.h>

#include "e2e/scene.h"

namespace lowtide::e2e {
namespace {

std::string output_of(const Words& arguments) {
  const Outcome outcome = lowtide(arguments);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  return outcome.out;
}

// What bash would offer for a command line, its last word unfinished.
std::string offered(const Scene& scene, const std::string& words) {
  support::write_file(scene / "completion", output_of({"completion", "bash"}));
  support::write_file(scene / "ask", "source '" + (scene / "completion") + "'\nCOMP_WORDS=(" +
                                         words +
                                         ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_lowtide\n"
                                         "printf '%s ' \"${COMPREPLY[@]}\"\n");
  const Outcome outcome = support::run_program("/bin/bash", {scene / "ask"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  return outcome.out;
}

TEST(Completion, BashOffersCommandsOptionsAndValues) {
  const Scene scene;
  EXPECT_EQ(offered(scene, "lowtide tr"), "train ");
  EXPECT_EQ(offered(scene, "lowtide train --mic"), "--micro-batch ");
  EXPECT_EQ(offered(scene, "lowtide train --optimizer ada"), "adam adamw ");
  EXPECT_EQ(offered(scene, "lowtide eval --optim"), " ");
  EXPECT_EQ(offered(scene, "lowtide completion --he"), "--help ");
}

TEST(Completion, EveryShellKnowsEveryOptionOfTheHelp) {
  for (const char* const shell : {"bash", "zsh", "fish"}) {
    const std::string text = output_of({"completion", shell});
    for (const char* const option :
         {"budget", "val-split", "schedule", "micro-batch", "blocks", "print-config"}) {
      EXPECT_NE(text.find(option), std::string::npos) << shell << " " << option;
    }
  }
  EXPECT_EQ(lowtide({"completion", "tcsh"}).exit_code, 2);
}

TEST(Manual, HasEveryCommandAndOptionAndNoStrayRequest) {
  const std::string page = output_of({"man"});
  EXPECT_EQ(page.rfind(".TH LOWTIDE 1", 0), 0U);
  for (const char* const word : {".SS train", ".SS doctor", "\\fB\\-\\-val\\-split\\fR",
                                 "\\fB\\-o\\fR, \\fB\\-\\-out\\fR", ".SH EXIT STATUS"}) {
    EXPECT_NE(page.find(word), std::string::npos) << word;
  }
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || (line[0] != '.' && line[0] != '\'')) continue;
    const bool request = line.rfind(".TH", 0) == 0 || line.rfind(".S", 0) == 0 || line == ".TP" ||
                         line.rfind(".B ", 0) == 0 || line.rfind(".I ", 0) == 0;
    EXPECT_TRUE(request) << line;
  }
}

// To write it anew: lowtide man --markdown > docs/options.md
TEST(Manual, TheReferenceInTheDocsIsWhatTheProgramWrites) {
  EXPECT_EQ(output_of({"man", "--markdown"}), support::read_file(LOWTIDE_DOCS "/options.md"));
}

TEST(Doctor, TellsWhatARunFinds) {
  const Scene scene;
  const Json report =
      Json::parse(output_of({"doctor", "--json", "--spill", scene.folder().path()}));
  cpu_set_t mask;
  CPU_ZERO(&mask);
  ASSERT_EQ(sched_getaffinity(0, sizeof(mask), &mask), 0);
  EXPECT_EQ(report.at("affinity_cpus"), CPU_COUNT(&mask));
  EXPECT_LE(report.at("threads"), CPU_COUNT(&mask));
  EXPECT_GE(report.at("threads"), 1);
  EXPECT_GT(report.at("budget_bytes"), 1 << 20);
  EXPECT_GT(report.at("spill").at("store_bytes_per_second"), 0);
  for (const char* const library : {"lowtide", "oneDNN", "zlib", "libjpeg-turbo", "libpng"}) {
    EXPECT_NE(report.at("versions").at(library), "") << library;
  }
  EXPECT_TRUE(scene.folder().names().empty());
  const std::string text = output_of({"doctor"});
  EXPECT_NE(text.find("threads"), std::string::npos);
  EXPECT_NE(text.find("budget auto"), std::string::npos);
}

TEST(Doctor, ThreadsFollowTheAffinity) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  ASSERT_EQ(sched_getaffinity(0, sizeof(mask), &mask), 0);
  int first = 0;
  while (!CPU_ISSET(static_cast<std::size_t>(first), &mask)) ++first;
  const Outcome one = lowtide({"doctor", "--json"}, {.cpus = {first}});
  ASSERT_EQ(one.exit_code, 0) << one.err;
  EXPECT_EQ(Json::parse(one.out).at("threads"), 1);
}

}  // namespace
}  // namespace lowtide::e2e
