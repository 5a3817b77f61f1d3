/* The testbench's side: NumPy .npy files; and, with ming_quantize.h, the
 * quantizer of the model's boundary.
 * Reads format versions 1 to 3, dtypes b1 i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 of
 * either byte order and both array orders, any shape. A file is trusted in
 * nothing: the header is parsed strictly, the size that its shape implies is
 * computed with overflow checks and must be the size of the file before
 * anything is allocated. Writes what numpy.save writes for the same array in C
 * order, byte for byte, through a temporary file that is renamed when complete.
 * Errors are std::runtime_error with the text "file: reason".
 * Not covered: structured, complex, string and object dtypes; .npz. Tested by
 * test/csim, with numpy as the oracle. */
#ifndef MING_NPY_H
#define MING_NPY_H

#include "ming_quantize.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

namespace ming {

/* An array in C order. The elements stay as they are in a little-endian file,
 * so that integers of 64 bits are exact and a copy is the same bytes. */
struct Array {
    std::vector<std::size_t> shape;
    char kind = 'f';                    /* 'b', 'i', 'u' or 'f', as in a dtype */
    std::size_t item = 4;               /* bytes per element: 1, 2, 4 or 8 */
    std::vector<unsigned char> bytes;   /* size() * item */

    Array() = default;
    /* Zeros. Throws if the dtype (such as "f4", "i8") is not supported. */
    Array(const std::string &dtype, const std::vector<std::size_t> &dims);

    std::size_t size() const { return bytes.size() / item; }
    bool is_float() const { return kind == 'f'; }
    std::string dtype() const { return kind + std::to_string(item); }

    /* Element i in C order. The integer accessors throw if the element is not
     * an integer of their range, the setters if the value does not fit the
     * dtype; a float dtype takes the nearest value it has. */
    std::int64_t at_int(std::size_t i) const;
    std::uint64_t at_uint(std::size_t i) const;
    double at_double(std::size_t i) const;
    void set_int(std::size_t i, std::int64_t v);
    void set_uint(std::size_t i, std::uint64_t v);
    void set_double(std::size_t i, double v);

private:
    std::uint64_t bits(std::size_t i) const;
    void set_bits(std::size_t i, std::uint64_t v);
};

namespace npy {

[[noreturn]] inline void fail(const std::string &what) { throw std::runtime_error(what); }

inline bool dtype_supported(char kind, std::size_t item)
{
    switch (kind) {
    case 'b': return item == 1;
    case 'i':
    case 'u': return item == 1 || item == 2 || item == 4 || item == 8;
    case 'f': return item == 2 || item == 4 || item == 8;
    default: return false;
    }
}

/* a * b, or an error. */
inline std::size_t size_product(std::size_t a, std::size_t b)
{
    if (a != 0 && b > SIZE_MAX / a)
        fail("the shape has more elements than memory can hold");
    return a * b;
}

inline std::size_t byte_count(const std::vector<std::size_t> &shape, std::size_t item)
{
    std::size_t n = item;
    for (const std::size_t d : shape)
        if (d != 0)
            n = size_product(n, d);
    for (const std::size_t d : shape)
        if (d == 0)
            n = 0;
    return n;
}

inline double half_to_double(std::uint64_t h)
{
    const int exponent = static_cast<int>(h >> 10 & 31);
    const double mantissa = static_cast<double>(h & 1023);
    const double magnitude = exponent == 31  ? (mantissa == 0 ? HUGE_VAL : std::nan(""))
                             : exponent == 0 ? std::ldexp(mantissa, -24)
                                             : std::ldexp(mantissa + 1024, exponent - 25);
    return h >> 15 & 1 ? -magnitude : magnitude;
}

/* Nearest, ties to even: |v| in units of the last place of its binade, rounded
 * as an integer; a carry into the next binade is the right encoding by itself. */
inline std::uint64_t half_of_double(double v)
{
    const std::uint64_t sign = std::signbit(v) ? 0x8000 : 0;
    const double a = std::fabs(v);
    if (std::isnan(v))
        return sign | 0x7e00;
    if (a >= 65520)
        return sign | 0x7c00;
    int exponent = 0;
    std::frexp(a, &exponent);
    const int binade = a < 0x1p-14 ? -13 : exponent;        /* the subnormals share one */
    const double ulps = std::ldexp(a, 11 - binade);         /* < 2048, exact */
    const double low = std::floor(ulps), rest = ulps - low;
    std::uint64_t n = static_cast<std::uint64_t>(low);
    if (rest > 0.5 || (rest == 0.5 && n % 2 == 1))
        n++;
    return sign | (static_cast<std::uint64_t>(binade + 13) * 1024 + n);
}

} // namespace npy

inline Array::Array(const std::string &dtype, const std::vector<std::size_t> &dims) : shape(dims)
{
    kind = dtype.empty() ? '?' : dtype[0];
    item = dtype.size() == 2 && dtype[1] >= '1' && dtype[1] <= '8' ? static_cast<std::size_t>(dtype[1] - '0') : 0;
    if (!npy::dtype_supported(kind, item))
        npy::fail("unsupported dtype '" + dtype + "'");
    bytes.resize(npy::byte_count(shape, item));
}

inline std::uint64_t Array::bits(std::size_t i) const
{
    if (i >= size())
        npy::fail("array index " + std::to_string(i) + " out of range");
    std::uint64_t v = 0;
    for (std::size_t b = 0; b < item; b++)
        v |= static_cast<std::uint64_t>(bytes[i * item + b]) << (8 * b);
    return v;
}

inline void Array::set_bits(std::size_t i, std::uint64_t v)
{
    if (i >= size())
        npy::fail("array index " + std::to_string(i) + " out of range");
    for (std::size_t b = 0; b < item; b++)
        bytes[i * item + b] = static_cast<unsigned char>(v >> (8 * b));
}

inline double Array::at_double(std::size_t i) const
{
    const std::uint64_t v = bits(i);
    if (kind == 'f' && item == 8) {
        double d;
        std::memcpy(&d, &v, sizeof d);
        return d;
    }
    if (kind == 'f' && item == 4) {
        const std::uint32_t w = static_cast<std::uint32_t>(v);
        float f;
        std::memcpy(&f, &w, sizeof f);
        return static_cast<double>(f);
    }
    if (kind == 'f')
        return npy::half_to_double(v);
    return kind == 'i' ? static_cast<double>(at_int(i)) : static_cast<double>(at_uint(i));
}

inline std::int64_t Array::at_int(std::size_t i) const
{
    if (kind == 'i') {
        const std::uint64_t sign = std::uint64_t{1} << (8 * item - 1);
        return static_cast<std::int64_t>((bits(i) ^ sign) - sign);
    }
    if (kind == 'f') {
        const double d = at_double(i);
        if (!(d >= -0x1p63 && d < 0x1p63 && d == std::floor(d)))
            npy::fail("element " + std::to_string(i) + " is not a 64-bit integer");
        return static_cast<std::int64_t>(d);
    }
    const std::uint64_t v = at_uint(i);
    if (v > INT64_MAX)
        npy::fail("element " + std::to_string(i) + " exceeds the signed 64-bit range");
    return static_cast<std::int64_t>(v);
}

inline std::uint64_t Array::at_uint(std::size_t i) const
{
    if (kind == 'b')
        return bits(i) != 0;
    if (kind == 'u')
        return bits(i);
    if (kind == 'f' && at_double(i) >= 0x1p63) {
        if (!(at_double(i) < 0x1p64))
            npy::fail("element " + std::to_string(i) + " exceeds the unsigned 64-bit range");
        return static_cast<std::uint64_t>(at_double(i));
    }
    if (at_int(i) < 0)
        npy::fail("element " + std::to_string(i) + " is negative");
    return static_cast<std::uint64_t>(at_int(i));
}

inline void Array::set_double(std::size_t i, double v)
{
    if (kind != 'f') {
        if (v >= 0x1p63 && v < 0x1p64)
            return set_uint(i, static_cast<std::uint64_t>(v));
        if (!(v >= -0x1p63 && v < 0x1p63 && v == std::floor(v)))
            npy::fail("a value that is not an integer stored in an array of '" + dtype() + "'");
        return set_int(i, static_cast<std::int64_t>(v));
    }
    std::uint64_t b = 0;
    if (item == 8) {
        std::memcpy(&b, &v, sizeof v);
    } else if (item == 4) {
        const float f = static_cast<float>(v);
        std::uint32_t w;
        std::memcpy(&w, &f, sizeof w);
        b = w;
    } else {
        b = npy::half_of_double(v);
    }
    set_bits(i, b);
}

inline void Array::set_int(std::size_t i, std::int64_t v)
{
    if (kind == 'f')
        return set_double(i, static_cast<double>(v));
    if (kind != 'i') {
        if (v < 0)
            npy::fail("a negative value stored in an array of '" + dtype() + "'");
        return set_uint(i, static_cast<std::uint64_t>(v));
    }
    const std::int64_t high = INT64_MAX >> (64 - 8 * item);
    if (v > high || v < -high - 1)
        npy::fail("value " + std::to_string(v) + " does not fit '" + dtype() + "'");
    set_bits(i, static_cast<std::uint64_t>(v));
}

inline void Array::set_uint(std::size_t i, std::uint64_t v)
{
    if (kind == 'f')
        return set_double(i, static_cast<double>(v));
    const std::uint64_t high = kind == 'b' ? 1 : (kind == 'u' ? UINT64_MAX : INT64_MAX) >> (64 - 8 * item);
    if (v > high)
        npy::fail("value " + std::to_string(v) + " does not fit '" + dtype() + "'");
    set_bits(i, v);
}

namespace npy {

struct Header {
    std::string descr;
    bool fortran = false;
    std::vector<std::size_t> shape;
};

/* header := '{' [entry {',' entry} [',']] '}'     entry := string ':' value
 * value  := string | 'True' | 'False' | '(' [number {',' number} [',']] ')'
 * with blanks anywhere between tokens: the dictionary that numpy writes, in
 * any order of its three keys, and nothing else. */
class HeaderParser {
public:
    explicit HeaderParser(const std::string &text) : p_(text.c_str()), end_(p_ + text.size()) {}

    Header parse()
    {
        expect('{');
        while (!accept('}')) {
            parse_entry();
            if (!accept(',') && peek() != '}')
                fail("malformed header: ',' or '}' expected");
        }
        if (peek() != '\0' || p_ != end_)
            fail("malformed header: text after the dictionary");
        if (seen_ != 7)
            fail("malformed header: 'descr', 'fortran_order' or 'shape' is missing");
        return header_;
    }

private:
    char peek()
    {
        while (p_ != end_ && (*p_ == ' ' || *p_ == '\n' || *p_ == '\t' || *p_ == '\r'))
            p_++;
        return p_ == end_ ? '\0' : *p_;
    }

    bool accept(char c)
    {
        if (peek() != c || p_ == end_)
            return false;
        p_++;
        return true;
    }

    void expect(char c)
    {
        if (!accept(c))
            fail(std::string("malformed header: '") + c + "' expected");
    }

    void mark_key(int bit)
    {
        if (seen_ & bit)
            fail("malformed header: a key is repeated");
        seen_ |= bit;
    }

    void parse_entry()
    {
        const std::string key = parse_string();
        expect(':');
        if (key == "descr") {
            mark_key(1);
            if (peek() != '\'' && peek() != '"')
                fail("unsupported dtype: not a simple type");
            header_.descr = parse_string();
        } else if (key == "fortran_order") {
            mark_key(2);
            header_.fortran = parse_bool();
        } else if (key == "shape") {
            mark_key(4);
            parse_shape();
        } else {
            fail("malformed header: unknown key");
        }
    }

    std::string parse_string()
    {
        const char quote = peek();
        if (quote != '\'' && quote != '"')
            fail("malformed header: a string expected");
        std::string s;
        for (p_++; p_ != end_ && *p_ != quote; p_++)
            s += *p_;
        expect(quote);
        return s;
    }

    bool parse_bool()
    {
        for (const char *word : {"True", "False"}) {
            const std::size_t n = std::strlen(word);
            if (peek() == word[0] && static_cast<std::size_t>(end_ - p_) >= n && std::memcmp(p_, word, n) == 0) {
                p_ += n;
                return word[0] == 'T';
            }
        }
        fail("malformed header: True or False expected");
    }

    void parse_shape()
    {
        expect('(');
        while (!accept(')')) {
            header_.shape.push_back(parse_number());
            if (accept(','))
                continue;
            if (header_.shape.size() == 1 || peek() != ')')
                fail("malformed header: the shape is not a tuple");
        }
    }

    std::size_t parse_number()
    {
        if (peek() < '0' || peek() > '9')
            fail("malformed header: a non-negative number expected");
        std::size_t n = 0;
        for (; p_ != end_ && *p_ >= '0' && *p_ <= '9'; p_++) {
            const std::size_t digit = static_cast<std::size_t>(*p_ - '0');
            if (n > (SIZE_MAX - digit) / 10)
                fail("the shape has a dimension beyond 64 bits");
            n = n * 10 + digit;
        }
        return n;
    }

    const char *p_, *end_;
    int seen_ = 0;
    Header header_;
};

struct FileCloser {
    void operator()(std::FILE *f) const { std::fclose(f); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

inline void read_exactly(std::FILE *f, void *to, std::size_t n)
{
    if (n != 0 && std::fread(to, 1, n, f) != n)
        fail(std::ferror(f) ? "cannot be read" : "the file is truncated");
}

/* Bytes from the current position to the end of the file. */
inline std::size_t bytes_left(std::FILE *f)
{
    const long here = std::ftell(f);
    if (here < 0 || std::fseek(f, 0, SEEK_END) != 0)
        fail("cannot be read: not a regular file");
    const long end = std::ftell(f);
    if (end < here || std::fseek(f, here, SEEK_SET) != 0)
        fail("cannot be read: not a regular file");
    return static_cast<std::size_t>(end - here);
}

inline Header read_header(std::FILE *f)
{
    unsigned char start[8], length[4] = {0, 0, 0, 0};
    read_exactly(f, start, sizeof start);
    if (std::memcmp(start, "\x93NUMPY", 6) != 0)
        fail("not a .npy file");
    if (start[6] < 1 || start[6] > 3 || start[7] != 0)
        fail("unsupported .npy version " + std::to_string(start[6]) + "." + std::to_string(start[7]));
    read_exactly(f, length, start[6] == 1 ? 2 : 4);
    const std::size_t n = length[0] | static_cast<std::size_t>(length[1]) << 8 |
                          static_cast<std::size_t>(length[2]) << 16 | static_cast<std::size_t>(length[3]) << 24;
    if (n > bytes_left(f))
        fail("the file is truncated");
    std::string text(n, '\0');
    read_exactly(f, &text[0], n);
    return HeaderParser(text).parse();
}

/* The type and byte order of a descr such as "<f4"; true if big-endian. */
inline bool parse_descr(const std::string &descr, Array &a)
{
    const bool ordered = descr.size() == 3 && (descr[0] == '<' || descr[0] == '>' || descr[0] == '|');
    a.kind = ordered ? descr[1] : '?';
    a.item = ordered && descr[2] >= '1' && descr[2] <= '8' ? static_cast<std::size_t>(descr[2] - '0') : 0;
    if (!dtype_supported(a.kind, a.item) || (descr[0] == '|' && a.item > 1))
        fail("unsupported dtype '" + descr + "'");
    return descr[0] == '>';
}

inline void reverse_items(Array &a)
{
    for (std::size_t i = 0; i < a.bytes.size(); i += a.item)
        for (std::size_t b = 0; b < a.item / 2; b++)
            std::swap(a.bytes[i + b], a.bytes[i + a.item - 1 - b]);
}

/* From first index fastest to last index fastest: step through the elements in
 * C order, with the source's stride for each index. */
inline void to_c_order(Array &a)
{
    const std::size_t rank = a.shape.size(), n = a.size();
    if (n == 0 || rank < 2)
        return;
    std::vector<std::size_t> stride(rank, a.item), index(rank, 0);
    for (std::size_t d = 1; d < rank; d++)
        stride[d] = stride[d - 1] * a.shape[d - 1];
    const std::vector<unsigned char> from = a.bytes;
    std::size_t source = 0;
    for (std::size_t i = 0; i < n; i++) {
        std::memcpy(&a.bytes[i * a.item], &from[source], a.item);
        for (std::size_t d = rank; d-- > 0;) {
            source += stride[d];
            if (++index[d] < a.shape[d])
                break;
            source -= stride[d] * a.shape[d];
            index[d] = 0;
        }
    }
}

inline Array read_file(const std::string &path)
{
    const File file(std::fopen(path.c_str(), "rb"));
    if (!file)
        fail("cannot be opened");
    const Header header = read_header(file.get());
    Array a;
    const bool big_endian = parse_descr(header.descr, a);
    a.shape = header.shape;
    const std::size_t want = byte_count(a.shape, a.item), have = bytes_left(file.get());
    if (want != have)
        fail("the shape needs " + std::to_string(want) + " bytes of data, the file has " + std::to_string(have));
    a.bytes.resize(want);
    read_exactly(file.get(), a.bytes.data(), want);
    if (big_endian)
        reverse_items(a);
    if (header.fortran)
        to_c_order(a);
    return a;
}

/* The header as numpy pads it: room for the first dimension to grow to 21
 * digits, then 1 to 64 bytes of blanks and newline up to a multiple of 64. */
inline std::string header_text(const Array &a)
{
    std::string shape = "(";
    for (std::size_t i = 0; i < a.shape.size(); i++)
        shape += (i == 0 ? "" : ", ") + std::to_string(a.shape[i]);
    shape += a.shape.size() == 1 ? ",)" : ")";
    std::string text = std::string("{'descr': '") + (a.item == 1 ? '|' : '<') + a.dtype() +
                       "', 'fortran_order': False, 'shape': " + shape + ", }";
    if (!a.shape.empty())
        text.append(21 - std::to_string(a.shape[0]).size(), ' ');
    const bool wide = text.size() + 64 > 65535;
    const std::size_t prefix = wide ? 12 : 10;
    text.append(64 - (prefix + text.size() + 1) % 64, ' ');
    text += '\n';
    std::string head = std::string("\x93NUMPY") + (wide ? '\2' : '\1') + '\0';
    for (std::size_t b = 0; b < prefix - 8; b++)
        head += static_cast<char>(text.size() >> (8 * b) & 255);
    return head + text;
}

inline bool write_bytes(const std::string &path, const std::string &head, const std::vector<unsigned char> &bytes)
{
    std::FILE *f = std::fopen(path.c_str(), "wb");
    if (f == nullptr)
        return false;
    const bool ok = std::fwrite(head.data(), 1, head.size(), f) == head.size() &&
                    (bytes.empty() || std::fwrite(bytes.data(), 1, bytes.size(), f) == bytes.size());
    return std::fclose(f) == 0 && ok;
}

/* A device or a pipe, which a file must not take the place of. */
inline bool is_special(const std::string &path)
{
    struct stat found;
    return stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode);
}

} // namespace npy

/* The array in a file. Throws "file: reason". */
inline Array npy_read(const std::string &path)
{
    try {
        return npy::read_file(path);
    } catch (const std::exception &e) {
        throw std::runtime_error(path + ": " + e.what());
    }
}

/* Write or replace a file; on failure throws "file: reason" and leaves what
 * was there. */
inline void npy_write(const std::string &path, const Array &a)
{
    if (!npy::dtype_supported(a.kind, a.item) || a.bytes.size() != npy::byte_count(a.shape, a.item))
        throw std::runtime_error(path + ": the array's dtype, shape and data do not agree");
    const std::string part = path + (npy::is_special(path) ? "" : ".part");
    if (npy::write_bytes(part, npy::header_text(a), a.bytes) &&
        (part == path || std::rename(part.c_str(), path.c_str()) == 0))
        return;
    if (part != path)
        std::remove(part.c_str());
    throw std::runtime_error(path + ": cannot be written");
}

} // namespace ming

#endif
