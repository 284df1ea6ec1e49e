"""Whatever answers a request for text: servers, a small model in this process, rules, recorded answers."""
