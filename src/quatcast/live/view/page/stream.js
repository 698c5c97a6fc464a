// The connection to the service: opens a WebSocket, takes it apart into calls, and opens it again when it is lost.

const VERSION = 1;
const SILENCE = 4000; // Milliseconds without a message after which the connection counts as lost; beats come each second.
const LONGEST_WAIT = 4000;

/**
 * Connect for as long as the page is open. `handlers` has a function per type of message (hello, layout, status, event,
 * beat, dropped), `rows` for binary messages, and `connection` for changes of the connection.
 */
export class Stream {
  constructor(handlers) {
    this.handlers = handlers;
    this.failures = 0;
    this.generation = -1;
    this.connected = false;
    this.lastMessage = 0;
    setInterval(() => this._watch(), 500);
    this._open();
  }

  _open() {
    clearTimeout(this.timer);
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/ws`);
    this.socket = socket;
    this.lastMessage = performance.now();
    socket.binaryType = "arraybuffer";
    socket.onmessage = (event) => socket === this.socket && this._take(event.data);
    socket.onclose = (event) => socket === this.socket && this._lost(event.reason);
  }

  _take(data) {
    this.lastMessage = performance.now();
    if (typeof data !== "string") {
      const header = new DataView(data);
      const current = header.getUint32(0, true) === VERSION && header.getUint32(4, true) === this.generation;
      if (current) this.handlers.rows(data);
      return;
    }
    const message = JSON.parse(data);
    if (message.type === "hello") this._greet(message);
    if (message.type === "layout") this.generation = message.generation;
    if (message.type in this.handlers) this.handlers[message.type](message);
  }

  _greet(hello) {
    if (hello.version !== VERSION) {
      // The service was updated while this page was open. Reload once; a second time it would not help.
      if (sessionStorage.getItem("reloaded") !== String(hello.version)) {
        sessionStorage.setItem("reloaded", String(hello.version));
        location.reload();
      }
      return;
    }
    const restarted = this.server !== undefined && this.server !== hello.server;
    this.server = hello.server;
    this.failures = 0;
    if (!this.connected) {
      this.connected = true;
      this.handlers.connection({ connected: true, restarted });
    }
  }

  _lost(reason) {
    this.socket = null;
    this.connected = false;
    const wait = Math.min(LONGEST_WAIT, 400 * 2 ** Math.min(this.failures, 10));
    this.failures += 1;
    this.timer = setTimeout(() => this._open(), wait);
    this.handlers.connection({ connected: false, reason });
    if (this.failures > 1 && !reason) this._diagnose();
  }

  /** Find out whether the service is gone or wants another token; a WebSocket does not tell. */
  async _diagnose() {
    try {
      const response = await fetch("/assets/icon.svg", { cache: "no-store" });
      if (response.status === 401 && !this.connected)
        this.handlers.connection({ connected: false, reason: "the service asks for a token: open the address that it printed" });
    } catch {
      // The service is gone; the next attempt will tell when it is back.
    }
  }

  _watch() {
    if (!this.socket || performance.now() - this.lastMessage < SILENCE) return;
    const socket = this.socket;
    this._lost("");
    socket.close();
  }
}
