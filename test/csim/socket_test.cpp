/* Sockets of emulated cards: what the other side does between two looks is seen before anybody waits. */
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

#include "ming_card.h"

static void expect(bool holds, const char *what)
{
    if (holds) return;
    std::fprintf(stderr, "%s\n", what);
    std::exit(1);
}

static void test_closed_by_send()
{
    auto [mine, its] = emulate::Socket::pair();
    emulate::Message message;
    expect(!mine.receive(message) && !mine.is_closed(), "is open");
    its.close();
    mine.send(emulate::Message(emulate::MessageKind::IDLE));
    expect(mine.is_closed() && mine.has_news(), "a send has found it closed");
    emulate::poll_sockets({&mine}); /* returns */
    expect(!mine.receive(message) && !mine.has_news(), "its owner has seen it");
    mine.close();
}

static void test_other_socket_goes_on()
{
    auto [mine, its] = emulate::Socket::pair();
    auto [gone, other] = emulate::Socket::pair();
    emulate::Message message;
    other.close();
    expect(!gone.receive(message) && gone.is_closed() && !gone.has_news(),
           "closed is no news to who receives");
    its.send(emulate::Message(emulate::MessageKind::ASK));
    emulate::poll_sockets({&gone, &mine}); /* waits for the open one */
    expect(mine.receive(message) && message.header.kind == emulate::MessageKind::ASK,
           "a message has come");
    mine.close();
    its.close();
    gone.close();
}

int main()
{
    alarm(60); /* a wait without end */
    test_closed_by_send();
    test_other_socket_goes_on();
    return 0;
}
