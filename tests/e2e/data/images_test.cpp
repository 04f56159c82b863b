// Class folders of images, from files to a trained network.
#include <gtest/gtest.h>

#include "e2e/scene.h"
#include "support/pictures.h"

namespace lowtide::e2e {
namespace {

namespace fs = std::filesystem;

// Red, green and blue pictures of several sizes and kinds, each in the folder of its colour.
std::string photos(const Scene& scene, int each = 8) {
  const fs::path root = scene / "photos";
  int colour = 0;
  for (const char* const name : {"blue", "green", "red"}) {
    fs::create_directories(root / name);
    for (int i = 0; i < each; ++i) {
      support::Picture picture = support::smooth_picture(18 + i % 7, 16 + i % 5, 3, i);
      for (std::size_t k = 0; k < picture.samples.size(); ++k) {
        const bool own = static_cast<int>(k % 3) == 2 - colour;
        picture.samples[k] =
            static_cast<std::uint8_t>(own ? 150 + picture.samples[k] / 3 : picture.samples[k] / 3);
      }
      const fs::path path = root / name / std::to_string(i);
      if (i % 2 == 0) support::write_png(path.string() + ".png", picture);
      if (i % 2 == 1) support::write_jpeg(path.string() + ".jpg", picture);
    }
    ++colour;
  }
  return root;
}

std::string network(const Scene& scene) {
  return scene.zoo({"mlp", "--size", "8", "--channels", "3", "--width", "16", "--classes", "3"});
}

const Words kTraining = {"--batch", "6", "--epochs", "12", "--lr", "0.05", "--momentum", "0.9"};

TEST(Images, ANetworkLearnsClassFoldersAndRemembersTheirNames) {
  const Scene scene;
  const std::string data = photos(scene);
  const Trained trained = train(scene, Words{network(scene), "--data", data, "--val-split", "0.25",
                                             "--augment", "crop,flip", "--crop-area", "0.3"} +
                                           kTraining);
  const Words arguments = {"eval", trained.model, "--data", data, "--val-split", "0.25"};
  const Outcome outcome = lowtide(arguments + Words{"--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json report = Json::parse(outcome.out);
  EXPECT_EQ(report.at("samples"), 6);
  EXPECT_EQ(report.at("metrics").at("accuracy"), 1.0);
  EXPECT_EQ(report.at("classes"), Json({"blue", "green", "red"}));
  EXPECT_NE(lowtide(arguments).out.find("classes blue, green, red"), std::string::npos);
}

// The same bits for any seed again, other bits for another one; augmentation is drawn, too.
TEST(Images, AugmentationFollowsTheSeed) {
  const Scene scene;
  const Words arguments = Words{network(scene), "--data",       photos(scene), "--augment",
                                "crop,flip",    "--no-shuffle", "--batch",     "6"};
  const Trained one = train(scene, arguments + Words{"--seed", "1"}, "one.onnx");
  const Trained again = train(scene, arguments + Words{"--seed", "1"}, "again.onnx");
  const Trained other = train(scene, arguments + Words{"--seed", "2"}, "other.onnx");
  EXPECT_EQ(one.bytes, again.bytes);
  EXPECT_NE(one.bytes, other.bytes);
}

TEST(Images, NormalizationByGivenNumbersIsRemembered) {
  const Scene scene;
  const std::string data = photos(scene, 2);
  const Trained trained = train(scene, {network(scene), "--data", data, "--mean",
                                        "0.485,0.456,0.406", "--std", "0.229,0.224,0.225"});
  EXPECT_NE(trained.bytes.find("mean=0.485,0.456,0.406;deviation=0.229,0.224,0.225"),
            std::string::npos);
}

TEST(Images, WhatCannotBeTakenIsRefusedByName) {
  const Scene scene;
  const std::string model = network(scene);
  const std::string data = photos(scene, 2);
  support::write_file(scene / "photos/red/broken.png", "not an image");
  expect_refused(scene, {"train", model, "--data", data}, {"red/broken.png", "neither a JPEG"});
  const Trained trained = train(scene, {model, "--data", data, "--bad-samples", "skip"});
  EXPECT_NE(trained.result.at("notes").dump().find("broken.png"), std::string::npos);
  fs::remove(scene / "photos/red/broken.png");
  fs::create_directories(scene / "photos/violet");
  support::write_png(scene / "photos/violet/0.png", support::smooth_picture(9, 9, 3));
  expect_refused(scene, {"train", model, "--data", data}, {"4 classes", "tells 3 apart"});
  expect_refused(scene, {"eval", trained.model, "--data", data}, {"'violet'", "blue, green, red"});
}

// Photos of ten times the budget stream through it.
TEST(Images, DataLargerThanTheBudgetStreams) {
  const Scene scene;
  const fs::path root = scene / "photos";
  support::Picture noise{.width = 640, .height = 600, .channels = 3, .samples = {}};
  std::uint32_t state = 1;
  for (std::int64_t i = 0; i < 640 * 600 * 3; ++i) {
    state = state * 1664525U + 1013904223U;
    noise.samples.push_back(static_cast<std::uint8_t>(state >> 24U));
  }
  fs::create_directories(root / "a");
  support::write_png(root / "a" / "0.png", noise);
  std::int64_t bytes = static_cast<std::int64_t>(fs::file_size(root / "a" / "0.png"));
  const std::string model = network(scene);
  const Words arguments = {model, "--data", root, "--batch", "4", "--threads", "2"};
  const std::int64_t budget = smallest_budget(arguments);
  for (int i = 1; bytes < 10 * budget; ++i) {
    const fs::path folder = root / std::string(1, static_cast<char>('a' + i % 3));
    fs::create_directories(folder);
    fs::create_hard_link(root / "a" / "0.png", folder / (std::to_string(i) + ".png"));
    bytes += static_cast<std::int64_t>(fs::file_size(root / "a" / "0.png"));
  }
  const std::int64_t needed = smallest_budget(arguments);
  EXPECT_LE(needed, budget + (1 << 20));
  const Trained trained =
      train(scene, arguments + Words{"--budget", std::to_string(needed), "--augment", "crop"});
  EXPECT_LE(trained.result.at("peak_rss_bytes").get<std::int64_t>(), needed);
}

}  // namespace
}  // namespace lowtide::e2e
