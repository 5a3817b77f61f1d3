/* Files as bytes, for the testbench and the host. */
#ifndef ENGINE_FILES_H
#define ENGINE_FILES_H

#include <cstdint>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

inline std::vector<unsigned char> read_file(const std::string &path)
{
    std::ifstream file(path, std::ios::binary);
    if (!file)
        throw std::runtime_error("cannot read '" + path + "'");
    return std::vector<unsigned char>(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

inline void write_file(const std::string &path, const std::vector<unsigned char> &bytes)
{
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char *>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file)
        throw std::runtime_error("cannot write '" + path + "'");
}

/* A fingerprint as sha256sum prints it; words are little-endian. */
template <class Word> std::string fingerprint_text(const Word *words, int count)
{
    static const char digits[] = "0123456789abcdef";
    std::string text;
    for (int i = 0; i < 4 * count; i++) {
        const unsigned byte = static_cast<unsigned>(words[i / 4]) >> (8 * (i % 4)) & 0xFFu;
        text += {digits[byte >> 4], digits[byte & 15u]};
    }
    return text;
}

#endif
