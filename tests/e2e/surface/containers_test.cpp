// Control groups and affinity, as the program meets them: threads and the budget follow the
// tightest of all limits.
#include <sched.h>

#include <filesystem>

#include <gtest/gtest.h>

#include "core/text.h"
#include "e2e/scene.h"

namespace lowtide::e2e {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

// CPUs that this process may use.
std::vector<int> allowed_cpus() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  EXPECT_EQ(sched_getaffinity(0, sizeof(mask), &mask), 0);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &mask)) cpus.push_back(cpu);
  }
  return cpus;
}

class Containers : public testing::Test {
 protected:
  // A file of the fake root of the process (see support/preload/fake_root.cpp).
  void write(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = root / file;
    std::filesystem::create_directories(path.parent_path());
    support::write_file(path, text + "\n");
  }

  [[nodiscard]] Outcome run(const Words& arguments, const std::vector<int>& cpus = {}) const {
    return lowtide(arguments,
                   {.cpus = cpus,
                    .environment = {std::string("LD_PRELOAD=") + LOWTIDE_FAKE_ROOT_LIBRARY,
                                    "LOWTIDE_FAKE_ROOT=" + root.path().string(),
                                    "ASAN_OPTIONS=verify_asan_link_order=0"}});
  }

  [[nodiscard]] Json doctor(const std::vector<int>& cpus = {}) const {
    const Outcome outcome = run({"doctor", "--json"}, cpus);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Json::parse(outcome.out);
  }

  // What training with --budget auto takes for its budget.
  [[nodiscard]] std::int64_t budget_of_a_run(const Words& more = {}) const {
    const Outcome outcome = run(Words{"train", model, "--data", data, "--json"} + more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Json::parse(outcome.out).at("budget_bytes");
  }

  support::Folder root;
  Scene scene;
  std::string model = scene.small_network();
  std::string data = scene.images();
};

TEST_F(Containers, NoGroupMeansNoLimit) {
  const Json report = doctor();
  EXPECT_EQ(report.at("threads"), report.at("affinity_cpus"));
  EXPECT_FALSE(report.contains("memory_limit_bytes"));
  EXPECT_FALSE(report.contains("quota_cpus"));
}

TEST_F(Containers, Version2LimitsOfAncestorsCount) {
  write("proc/self/cgroup", "0::/jobs/mine");
  write("sys/fs/cgroup/jobs/mine/memory.max", "max");
  write("sys/fs/cgroup/jobs/mine/cpu.max", "150000 100000");
  write("sys/fs/cgroup/jobs/memory.max", std::to_string(300 * kMiB));
  write("sys/fs/cgroup/jobs/cpu.max", "max 100000");
  const Json report = doctor();
  EXPECT_EQ(report.at("memory_limit_bytes"), 300 * kMiB);
  EXPECT_EQ(report.at("quota_cpus"), 1.5);
  const int cpus = static_cast<int>(allowed_cpus().size());
  EXPECT_EQ(report.at("threads"), std::min(cpus, 2));
  EXPECT_EQ(budget_of_a_run(), 300 * kMiB);
}

TEST_F(Containers, Version1LimitsOfAncestorsCount) {
  write("proc/self/cgroup", "7:memory:/outer/job\n3:cpuset:/\n2:cpu,cpuacct:/outer/job");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  write("sys/fs/cgroup/memory/outer/memory.limit_in_bytes", std::to_string(200 * kMiB));
  write("sys/fs/cgroup/memory/outer/job/memory.limit_in_bytes", std::to_string(400 * kMiB));
  write("sys/fs/cgroup/cpu,cpuacct/outer/job/cpu.cfs_quota_us", "50000");
  write("sys/fs/cgroup/cpu,cpuacct/outer/job/cpu.cfs_period_us", "100000");
  const Json report = doctor();
  EXPECT_EQ(report.at("memory_limit_bytes"), 200 * kMiB);
  EXPECT_EQ(report.at("quota_cpus"), 0.5);
  EXPECT_EQ(report.at("threads"), 1);
  EXPECT_EQ(budget_of_a_run(), 200 * kMiB);
}

// In a container of version 1 the group's path is that of the host, and the mount is the group.
TEST_F(Containers, Version1MountsThatAreTheGroupCount) {
  write("proc/self/cgroup", "7:memory:/docker/0123\n2:cpu,cpuacct:/docker/0123");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(250 * kMiB));
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "100000");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000");
  EXPECT_EQ(doctor().at("threads"), 1);
  EXPECT_EQ(budget_of_a_run(), 250 * kMiB);
}

TEST_F(Containers, ThreadsFollowTheAffinityWhereItIsTighterThanTheQuota) {
  write("proc/self/cgroup", "0::/job");
  write("sys/fs/cgroup/job/cpu.max", "800000 100000");
  for (const int cpu : allowed_cpus()) EXPECT_EQ(doctor({cpu}).at("threads"), 1) << cpu;
  EXPECT_EQ(doctor().at("threads"), allowed_cpus().size());
}

TEST_F(Containers, ABudgetAboveTheLimitIsWarnedOf) {
  write("proc/self/cgroup", "0::/job");
  write("sys/fs/cgroup/job/memory.max", std::to_string(200 * kMiB));
  const auto notes = [&](const std::string& budget) {
    const Outcome outcome = run({"train", model, "--data", data, "--json", "--budget", budget});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return Json::parse(outcome.out).at("notes").dump();
  };
  EXPECT_NE(notes("201MiB").find("job/memory.max"), std::string::npos);
  EXPECT_EQ(notes("200MiB").find("memory.max"), std::string::npos);
}

TEST_F(Containers, ALimitBelowTheSmallestBudgetIsAnAnswer) {
  write("proc/self/cgroup", "0::/job");
  write("sys/fs/cgroup/job/memory.max", std::to_string(10 * kMiB));
  const Outcome outcome = run({"train", model, "--data", data});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("a budget of 10 MiB is too small"), std::string::npos) << outcome.err;
}

// The result does not depend on how many CPUs there happen to be, beyond the order of sums.
TEST_F(Containers, TheQuotasThreadsGiveTheNumbersOfAsManyAskedFor) {
  write("proc/self/cgroup", "0::/job");
  write("sys/fs/cgroup/job/cpu.max", "100000 100000");
  const auto weights = [&](const Words& more, const std::string& name) {
    const Outcome outcome = run(Words{"train", model, "--data", data, "-o", scene / name} + more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return support::read_file(scene / name);
  };
  EXPECT_TRUE(weights({}, "quota.onnx") == weights({"--threads", "1"}, "one.onnx"));
}

}  // namespace
}  // namespace lowtide::e2e
