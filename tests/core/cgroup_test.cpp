// Reading control-group limits from fake trees of both versions.
#include "core/cgroup.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace lowtide::core {
namespace {

namespace fs = std::filesystem;

// A fake "/" that lives as long as the test.
class CgroupTree : public testing::Test {
 protected:
  void SetUp() override {
    const auto* const test = testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(testing::TempDir()) / ("lowtide_cgroup_" + std::string(test->name()));
    fs::remove_all(root_);
  }

  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text << '\n';
  }

  [[nodiscard]] CgroupLimits limits() const { return read_cgroup_limits(root_); }

 private:
  fs::path root_;
};

TEST_F(CgroupTree, TellsWhichFileSetsTheTightestLimit) {
  write("proc/self/cgroup", "0::/a/b");
  write("sys/fs/cgroup/a/memory.max", "1000000");
  write("sys/fs/cgroup/a/b/memory.max", "2000000");
  write("sys/fs/cgroup/a/b/cpu.max", "150000 100000");
  EXPECT_EQ(limits().memory, Bytes(1000000));
  EXPECT_TRUE(limits().memory_from.string().ends_with("sys/fs/cgroup/a/memory.max"));
  EXPECT_TRUE(limits().cpus_from.string().ends_with("sys/fs/cgroup/a/b/cpu.max"));
}

TEST_F(CgroupTree, NoTreeMeansNoLimit) {
  EXPECT_FALSE(limits().cpus.has_value());
  EXPECT_FALSE(limits().memory.has_value());
}

TEST_F(CgroupTree, Version2ReadsItsOwnGroup) {
  write("proc/self/cgroup", "0::/job");
  write("sys/fs/cgroup/job/cpu.max", "150000 100000");
  write("sys/fs/cgroup/job/memory.max", "209715200");
  EXPECT_DOUBLE_EQ(limits().cpus.value(), 1.5);
  EXPECT_EQ(limits().memory.value(), 200_MiB);
}

// What slows a process down to a crawl is a limit as well.
TEST_F(CgroupTree, Version2CountsTheHighMark) {
  write("proc/self/cgroup", "0::/job");
  write("sys/fs/cgroup/job/memory.max", "209715200");
  write("sys/fs/cgroup/job/memory.high", "104857600");
  EXPECT_EQ(limits().memory.value(), 100_MiB);
  EXPECT_TRUE(limits().memory_from.string().ends_with("job/memory.high"));
}

TEST_F(CgroupTree, Version2UnlimitedIsNoLimit) {
  write("proc/self/cgroup", "0::/job");
  write("sys/fs/cgroup/job/cpu.max", "max 100000");
  write("sys/fs/cgroup/job/memory.max", "max");
  EXPECT_FALSE(limits().cpus.has_value());
  EXPECT_FALSE(limits().memory.has_value());
}

TEST_F(CgroupTree, TheTightestAncestorWins) {
  write("proc/self/cgroup", "0::/outer/inner/leaf");
  write("sys/fs/cgroup/outer/inner/leaf/memory.max", "max");
  write("sys/fs/cgroup/outer/inner/memory.max", "1073741824");
  write("sys/fs/cgroup/outer/memory.max", "536870912");
  write("sys/fs/cgroup/outer/inner/leaf/cpu.max", "400000 100000");
  write("sys/fs/cgroup/outer/cpu.max", "800000 100000");
  EXPECT_EQ(limits().memory.value(), 512_MiB);
  EXPECT_DOUBLE_EQ(limits().cpus.value(), 4.0);
}

TEST_F(CgroupTree, InAContainerTheMountItselfCounts) {
  write("proc/self/cgroup", "0::/system.slice/docker-0123.scope");
  write("sys/fs/cgroup/memory.max", "314572800");
  write("sys/fs/cgroup/cpu.max", "50000 100000");
  EXPECT_EQ(limits().memory.value(), 300_MiB);
  EXPECT_DOUBLE_EQ(limits().cpus.value(), 0.5);
}

TEST_F(CgroupTree, Version1ReadsEachController) {
  write("proc/self/cgroup", "5:memory:/job\n4:cpu,cpuacct:/job\n1:name=systemd:/job");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "104857600");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "300000");
  write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000");
  EXPECT_EQ(limits().memory.value(), 100_MiB);
  EXPECT_DOUBLE_EQ(limits().cpus.value(), 3.0);
}

TEST_F(CgroupTree, Version1AncestorsCountAndEitherNameOfTheCpuMount) {
  write("proc/self/cgroup", "5:memory:/outer/job\n4:cpuacct,cpu:/outer/job");
  write("sys/fs/cgroup/memory/outer/memory.limit_in_bytes", "104857600");
  write("sys/fs/cgroup/memory/outer/job/memory.limit_in_bytes", "209715200");
  write("sys/fs/cgroup/cpuacct,cpu/outer/cpu.cfs_quota_us", "150000");
  write("sys/fs/cgroup/cpuacct,cpu/outer/cpu.cfs_period_us", "100000");
  write("sys/fs/cgroup/cpuacct,cpu/outer/job/cpu.cfs_quota_us", "-1");
  write("sys/fs/cgroup/cpuacct,cpu/outer/job/cpu.cfs_period_us", "100000");
  EXPECT_EQ(limits().memory.value(), 100_MiB);
  EXPECT_DOUBLE_EQ(limits().cpus.value(), 1.5);
}

TEST_F(CgroupTree, Version1MountsMayHoldOtherControllersBesides) {
  write("proc/self/cgroup", "5:hugetlb,memory:/job\n4:cpuset,cpu:/job");
  write("sys/fs/cgroup/hugetlb,memory/job/memory.limit_in_bytes", "104857600");
  write("sys/fs/cgroup/cpuset,cpu/job/cpu.cfs_quota_us", "100000");
  write("sys/fs/cgroup/cpuset,cpu/job/cpu.cfs_period_us", "100000");
  EXPECT_EQ(limits().memory.value(), 100_MiB);
  EXPECT_DOUBLE_EQ(limits().cpus.value(), 1.0);
}

// A nested container's own limit may be wider than that of what it runs in.
TEST_F(CgroupTree, Version1CountsAncestorsThatAreNotShown) {
  write("proc/self/cgroup", "5:memory:/docker/0123");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "209715200");
  write("sys/fs/cgroup/memory/memory.stat",
        "cache 524288000\nhierarchical_memory_limit 104857600\n"
        "hierarchical_memsw_limit 9223372036854771712\ntotal_cache 1");
  EXPECT_EQ(limits().memory.value(), 100_MiB);
  EXPECT_TRUE(limits().memory_from.string().ends_with("memory.stat"));
}

TEST_F(CgroupTree, PathsMayBeOddOrGone) {
  write("sys/fs/cgroup/my job: 1/memory.max", "104857600");
  write("sys/fs/cgroup/memory.max", "314572800");
  for (const auto& [path, wanted] :
       {std::pair{"/my job: 1", 100_MiB}, std::pair{"/gone (deleted)", 300_MiB},
        std::pair{"/../elsewhere", 300_MiB}, std::pair{"/", 300_MiB}}) {
    write("proc/self/cgroup", std::string("0::") + path);
    EXPECT_EQ(limits().memory.value(), wanted) << path;
  }
}

TEST_F(CgroupTree, Version1UnlimitedIsNoLimit) {
  write("proc/self/cgroup", "5:memory:/\n4:cpu,cpuacct:/");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000");
  EXPECT_FALSE(limits().cpus.has_value());
  EXPECT_FALSE(limits().memory.has_value());
}

TEST_F(CgroupTree, HybridTreesCombineBothVersions) {
  write("proc/self/cgroup", "3:memory:/job\n0::/job");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "268435456");
  write("sys/fs/cgroup/unified/job/cpu.max", "200000 100000");
  EXPECT_EQ(limits().memory.value(), 256_MiB);
  EXPECT_DOUBLE_EQ(limits().cpus.value(), 2.0);
}

TEST_F(CgroupTree, GarbageIsIgnored) {
  write("proc/self/cgroup", "garbage\n0::/job");
  write("sys/fs/cgroup/job/cpu.max", "many few");
  write("sys/fs/cgroup/job/memory.max", "-5");
  EXPECT_FALSE(limits().cpus.has_value());
  EXPECT_FALSE(limits().memory.has_value());
}

}  // namespace
}  // namespace lowtide::core
