// Options of the data: where it comes from and how its samples are taken.
#include "cli/options.h"
#include "cli/values.h"

namespace lowtide::cli {

CLI::Option* add_data(CLI::App& command, DataSettings& data) {
  CLI::Option_group* const group = command.add_option_group("Data");
  CLI::Option* const source =
      group
          ->add_option(
              "--data", data.source,
              "An .npz or a folder of .npy with the model's inputs and the labels, a folder of IDX "
              "files, a folder of class folders of JPEG and PNG images, a .csv, or a .bin of "
              "tokens")
          ->type_name("SRC");
  CLI::Option* const validation =
      group
          ->add_option("--val", data.validation,
                       "What to validate with, of the same kind (an IDX folder's test part)")
          ->type_name("SRC");
  group
      ->add_option("--val-split", data.validation_split,
                   "Validate with this share of --data, between 0 and 1, and do not train on it")
      ->excludes(validation)
      ->type_name("X");
  group->add_option("--split-seed", data.split_seed, "Which samples that share is")
      ->capture_default_str()
      ->check(whole_number())
      ->type_name("N");
  group->add_option("--label", data.label, "The array, or column of a .csv, that holds the targets")
      ->capture_default_str()
      ->type_name("NAME");
  group->add_option("--batch", data.batch, "Samples per step")
      ->capture_default_str()
      ->check(positive())
      ->type_name("N");
  // CLI11 would set an optional flag that nobody gave.
  group->add_flag_function(
      "--normalize,!--no-normalize", [&data](std::int64_t times) { data.normalize = times > 0; },
      "Subtract the mean and divide by the deviation per channel; by default for images of "
      "bytes and for what the model remembers");
  CLI::Option* const mean =
      group->add_option("--mean", data.mean, "Normalise by this mean, of images in [0, 1]")
          ->delimiter(',')
          ->type_name("X[,X,X]");
  CLI::Option* const deviation = group->add_option("--std", data.deviation, "And this deviation")
                                     ->delimiter(',')
                                     ->needs(mean)
                                     ->type_name("X[,X,X]");
  mean->needs(deviation);
  group->add_option("--temp", data.temp_directory, "Where compressed data is unpacked")
      ->type_name("DIR");
  add_choice<TokenType>(
      *group, "--token-dtype", data.token_type,
      {{"uint16", TokenType::kUint16}, {"uint32", TokenType::kUint32}},
      "What a .bin of tokens holds; default: what the model remembers, else uint16");
  add_images(command, data.image);
  return source;
}

void add_images(CLI::App& command, ImageSettings& image) {
  CLI::Option_group* const group = command.add_option_group("Images");
  group
      ->add_option("--image-size", image.size,
                   "Pixels that images are scaled to, N or H,W; default: what the model takes")
      ->delimiter(',')
      ->check(positive())
      ->expected(1, 2)
      ->type_name("N|H,W");
  group
      ->add_option_function<std::vector<std::string>>(
          "--augment",
          [&image](const std::vector<std::string>& ways) {
            for (const std::string& way : ways) {
              if (way != "crop" && way != "flip" && way != "none") {
                throw CLI::ValidationError("--augment", "'" + way + "' is not crop, flip or none");
              }
              if (way == "none" && ways.size() > 1) {
                throw CLI::ValidationError("--augment", "none stands alone");
              }
              image.crop = image.crop || way == "crop";
              image.flip = image.flip || way == "flip";
            }
          },
          "Train on a random part of each image (crop), mirrored every second time (flip)")
      ->delimiter(',')
      ->type_name("crop,flip|none");
  group
      ->add_option("--crop-area", image.crop_area,
                   "The least share of an image that a random part has")
      ->capture_default_str()
      ->check(between(1e-6, 1.0))
      ->type_name("X");
  add_choice<bool>(*group, "--bad-samples", image.skip_bad, {{"fail", false}, {"skip", true}},
                   "Images that cannot be decoded: fail, or skip, which decodes every image once "
                   "at the start to find them");
}

}  // namespace lowtide::cli
