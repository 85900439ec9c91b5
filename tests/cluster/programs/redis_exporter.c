/* Answers HTTP on port 9121 as redis_exporter does, knows nothing of Redis, and ignores its arguments. */
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void end(int signal) { (void)signal; _exit(0); }

int main(void) {
    const char *metrics = "# TYPE redis_exporter_build_info gauge\nredis_exporter_build_info{version=\"stand-in\"} 1\n";
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(9121)};
    char request[4096], answer[512];
    int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);

    signal(SIGTERM, end);
    signal(SIGINT, end);
    signal(SIGPIPE, SIG_IGN);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 16)) {
        perror("port 9121");
        return 1;
    }
    for (;;) {
        int client = accept(listener, NULL, NULL);
        ssize_t size = read(client, request, sizeof request - 1);
        if (size > 0) {
            request[size] = 0;
            const char *body = strncmp(request, "GET /health ", 12) ? metrics : "ok";
            int length = snprintf(answer, sizeof answer,
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s",
                strlen(body), body);
            if (write(client, answer, length) < 0) perror("write");
        }
        close(client);
    }
}
