/* hls::stream<T> and hls::stream<T, DEPTH> for C simulation: a FIFO between
 * processes that run one after the other, so it holds whatever its writer
 * leaves (unbounded, as in Vitis C simulation). Reading an empty stream prints
 * the stream's name and aborts: in hardware that read would never return. Data
 * left behind is reported when the stream is destroyed.
 *
 * The seam for other simulations is HLS_STREAM_POLICY, a class with the
 * members of csim::Unbounded below. ming_cosim.h has one that gives finite
 * capacities and switches to another process where a stream blocks.
 * Not covered: hls::stream_of_blocks, side channels (ap_axi_sdata.h), threads.
 * Tested by test/csim. */
#ifndef HLS_STREAM_H
#define HLS_STREAM_H

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace hls {
namespace csim {

struct Unbounded {
    /* Elements a stream of the given depth holds; depth 0 if none was given. */
    static constexpr std::size_t capacity(int /*depth*/) { return SIZE_MAX; }

    /* What the policy keeps per stream. */
    struct State {};

    /* A blocking read (write) found the stream empty (full). Returns when
     * something has changed; the stream tests again. */
    [[noreturn]] static void on_empty(const std::string &name, State &)
    {
        std::fprintf(stderr, "ERROR: hls::stream '%s' is read while empty: the hardware would hang\n",
                     name.c_str());
        std::abort();
    }
    static void on_full(const std::string & /*name*/, State &) {}
    /* An element was taken (put); `size` are there now. */
    static void on_read(const std::string & /*name*/, State &, std::size_t /*size*/) {}
    static void on_write(const std::string & /*name*/, State &, std::size_t /*size*/) {}
};

} // namespace csim
} // namespace hls

#ifndef HLS_STREAM_POLICY
#define HLS_STREAM_POLICY hls::csim::Unbounded
#endif

namespace hls {

template <class T, int DEPTH = 0>
class stream;

/* A ring of 2^k elements; head_ and tail_ count up and are never reduced. */
template <class T>
class stream<T, 0> {
    using Policy = HLS_STREAM_POLICY;

public:
    using value_type = T;

    stream() : stream("unnamed") {}
    explicit stream(const char *name) : stream(name, 0) {}
    explicit stream(const std::string &name) : stream(name.c_str(), 0) {}
    stream(const stream &) = delete;
    stream &operator=(const stream &) = delete;

    ~stream()
    {
        if (!empty() && std::uncaught_exceptions() == 0)
            std::fprintf(stderr, "WARNING: hls::stream '%s' contains leftover data: %zu elements were never read\n",
                         name_.c_str(), size());
    }

    bool empty() const { return head_ == tail_; }
    bool full() const { return size() >= capacity(); }
    std::size_t size() const { return tail_ - head_; }
    std::size_t capacity() const { return Policy::capacity(depth_); }

    T read()
    {
        while (empty())
            Policy::on_empty(name_, state_);
        T taken = std::move(ring_[head_++ & mask_]);
        Policy::on_read(name_, state_, size());
        return taken;
    }
    void read(T &v) { v = read(); }
    void operator>>(T &v) { v = read(); }

    void write(const T &v)
    {
        while (full())
            Policy::on_full(name_, state_);
        if (size() == allocated_)
            grow();
        ring_[tail_++ & mask_] = v;
#ifdef HLS_STREAM_WATCH /* a function that is told of each word (ming_trace.h) */
        HLS_STREAM_WATCH(name_, v);
#endif
        Policy::on_write(name_, state_, size());
    }
    void operator<<(const T &v) { write(v); }

    /* Non-blocking: false, and nothing moved, where the others would block. */
    bool read_nb(T &v)
    {
        if (empty())
            return false;
        v = read();
        return true;
    }
    bool write_nb(const T &v)
    {
        if (full())
            return false;
        write(v);
        return true;
    }

    const std::string &name() const { return name_; }
    void set_name(const char *name) { name_ = name; }
    void set_depth(int depth) { depth_ = depth; }

protected:
    stream(const char *name, int depth) : depth_(depth), name_(name) {}

private:
    void grow()
    {
        const std::size_t n = size(), allocated = allocated_ == 0 ? 16 : 2 * allocated_;
        std::unique_ptr<T[]> ring(new T[allocated]);
        for (std::size_t i = 0; i < n; i++)
            ring[i] = std::move(ring_[(head_ + i) & mask_]);
        ring_ = std::move(ring);
        allocated_ = allocated;
        mask_ = allocated - 1;
        head_ = 0;
        tail_ = n;
    }

    std::unique_ptr<T[]> ring_;
    std::size_t allocated_ = 0, mask_ = 0, head_ = 0, tail_ = 0;
    int depth_;
    std::string name_;
    typename Policy::State state_;
};

template <class T, int DEPTH>
class stream : public stream<T, 0> {
    static_assert(DEPTH > 0, "a stream's depth is positive");

public:
    stream() : stream("unnamed") {}
    explicit stream(const char *name) : stream<T, 0>(name, DEPTH) {}
    explicit stream(const std::string &name) : stream<T, 0>(name.c_str(), DEPTH) {}
};

} // namespace hls

#endif
