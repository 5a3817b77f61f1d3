/* Messages between the processes of `make emulate`: pairs of AF_UNIX sockets
 * that keep packets whole, so no other process and no network is reached. What a
 * socket does not take yet waits here, so nobody blocks in sending.
 * Tested by test/e2e/emulate_check.py. */
#ifndef MING_SOCKET_H
#define MING_SOCKET_H

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace emulate {

enum class MessageKind : std::uint16_t {
    PACKET, /* of a link: words, with their cycles as far as they are known */
    CYCLES, /* of words of that packet which had none */
    CREDIT, /* cycles in which words were read; all packets up to `sequence` have come */
    PROBE,  /* so many packets were sent */
    LOST,   /* that packet has not come; answers a probe */
    FRAME,  /* of so many frames in memory, or one: begins */
    DATA,   /* a port's part of it */
    WEIGHTS, /* that come through port `count`, once, before frames */
    COPY,   /* a frame of link `count`, that the host copies */
    END,    /* no frame follows */
    IDLE,   /* waits; counts of messages */
    TIMES,  /* of all frames, and counts of links */
    ASK,    /* who waits? */
    ANSWER, /* lines of text */
    FAILURE /* text */
};

struct Header {
    static constexpr std::uint32_t MAGIC = 0x676e696d; /* "ming" */

    std::uint32_t magic = MAGIC;
    MessageKind kind = MessageKind::DATA;
    std::uint16_t beats = 0;
    std::uint32_t words = 0;
    std::uint32_t count = 0; /* PACKET: how often it was lost; PROBE and LOST: number of the probe */
    std::uint64_t sequence = 0;
    std::int64_t cycle = 0; /* of the first word */
};
static_assert(sizeof(Header) == 32, "the header of a message has 32 bytes");

struct Message {
    Header header;
    std::vector<std::uint8_t> body;

    explicit Message(MessageKind kind = MessageKind::DATA) { header.kind = kind; }

    template <class T>
    void add(const T &value)
    {
        add_bytes(&value, sizeof value);
    }
    void add_bytes(const void *bytes, std::size_t count)
    {
        const auto *first = static_cast<const std::uint8_t *>(bytes);
        body.insert(body.end(), first, first + count);
    }

    /* The next value behind those that were taken. */
    template <class T>
    T take()
    {
        T value;
        if (body.size() - taken_ < sizeof value)
            throw std::runtime_error("a message is too short");
        std::memcpy(&value, body.data() + taken_, sizeof value);
        taken_ += sizeof value;
        return value;
    }
    bool is_taken() const { return taken_ == body.size(); }
    std::string text() const { return std::string(body.begin(), body.end()); }

private:
    std::size_t taken_ = 0;
};

/* One end of a pair. Long messages go in parts, each with a byte in front that says whether it is the last. */
class Socket {
public:
    explicit Socket(int fd = -1) : fd_(fd) {}

    static std::pair<Socket, Socket> pair()
    {
        int fds[2];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
            throw std::runtime_error(std::string("socketpair: ") + std::strerror(errno));
        return {Socket(fds[0]), Socket(fds[1])};
    }

    int fd() const { return fd_; }
    bool is_closed() const { return is_closed_; }
    /* A send has found it closed, and receive() has not been called since. */
    bool has_news() const { return has_news_; }
    bool is_behind() const { return !parts_.empty() && !is_closed_; } /* parts wait to be sent */
    /* Messages. */
    std::uint64_t sent() const { return sent_; }
    std::uint64_t received() const { return received_; }

    void close()
    {
        if (fd_ >= 0)
            ::close(fd_);
        fd_ = -1;
    }

    void send(const Message &message)
    {
        Message whole;
        whole.add(message.header);
        if (!message.body.empty())
            whole.add_bytes(message.body.data(), message.body.size());
        for (std::size_t at = 0; at < whole.body.size(); at += MAX_PART) {
            const std::size_t count = std::min(MAX_PART, whole.body.size() - at);
            Message part;
            part.add<std::uint8_t>(at + count == whole.body.size());
            part.add_bytes(whole.body.data() + at, count);
            parts_.push_back(std::move(part.body));
        }
        sent_++;
        flush();
    }

    /* Sends what the socket takes now. */
    void flush()
    {
        while (is_behind()) {
            const ssize_t done = ::send(fd_, parts_.front().data(), parts_.front().size(), MSG_DONTWAIT | MSG_NOSIGNAL);
            if (done < 0 && errno == EINTR)
                continue;
            if (done < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS))
                return;
            if (done < 0)
                is_closed_ = has_news_ = true;
            else
                parts_.pop_front();
        }
    }

    /* False: no whole message is there now. */
    bool receive(Message &message)
    {
        std::vector<std::uint8_t> part(MAX_PART + 1);
        has_news_ = false;
        while (!is_closed_) {
            const ssize_t size = recv(fd_, part.data(), part.size(), MSG_DONTWAIT);
            if (size < 0 && errno == EINTR)
                continue;
            if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
                return false;
            if (size <= 0) {
                is_closed_ = true;
                return false;
            }
            whole_.insert(whole_.end(), part.begin() + 1, part.begin() + size);
            if (part[0] == 0)
                continue;
            open(message);
            return true;
        }
        return false;
    }

private:
    static constexpr std::size_t MAX_PART = 60000; /* below what any socket holds at once */

    void open(Message &message)
    {
        message = Message();
        if (whole_.size() < sizeof message.header)
            throw std::runtime_error("a message is too short");
        std::memcpy(&message.header, whole_.data(), sizeof message.header);
        if (message.header.magic != Header::MAGIC)
            throw std::runtime_error("a message is none of ming's");
        message.body.assign(whole_.begin() + sizeof message.header, whole_.end());
        whole_.clear();
        received_++;
    }

    int fd_;
    bool is_closed_ = false, has_news_ = false;
    std::uint64_t sent_ = 0, received_ = 0;
    std::deque<std::vector<std::uint8_t>> parts_;
    std::vector<std::uint8_t> whole_; /* parts of a message that have come */
};

} // namespace emulate

#endif
