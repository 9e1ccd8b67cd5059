/** nginx as the canonical backend: the same fixed answers as the own server, at the least CPU. */
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ANSWER_HEADERS, ANSWERS } from './answers.ts'
import { CHAT, CHAT_EVENTS, CHAT_PATH, MESSAGE, MESSAGE_EVENTS, MESSAGES_PATH } from './models.ts'

/** Writes what nginx needs into `folder`; gives the path of its configuration. */
export function writeBackend(folder: string, port: number): string {
  writeFileSync(join(folder, '1m'), ANSWERS.megabyte)
  // Started by root, nginx serves as another user, who must be able to read the file.
  chmodSync(folder, 0o755)
  const path = join(folder, 'backend.conf')
  writeFileSync(path, configuration(folder, port))
  return path
}

function configuration(folder: string, port: number): string {
  const headers = ANSWER_HEADERS.map(([name, value]) => `      add_header ${name} '${value}';`).join('\n')
  return `
daemon off;
worker_processes 1;
pid ${folder}/backend.pid;
error_log stderr crit;
events { worker_connections 16384; }
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  open_file_cache max=10;
  etag off;
  keepalive_timeout 3600s;
  keepalive_requests 1000000000;
  client_body_temp_path ${folder}/backend-body;
  proxy_temp_path ${folder}/backend-proxy;
  fastcgi_temp_path ${folder}/backend-fastcgi;
  uwsgi_temp_path ${folder}/backend-uwsgi;
  scgi_temp_path ${folder}/backend-scgi;
  server {
    listen 127.0.0.1:${port} backlog=4096;
${headers.replaceAll('      ', '    ')}
    default_type text/plain;
    location / { return 200 '${ANSWERS.kilobyte.toString('latin1')}'; }
    location = /4k { default_type application/json; return 200 '${ANSWERS.accepted.toString('latin1')}'; }
    location = ${CHAT_PATH} {
      # Asked for by the request's own field: nginx does not read bodies.
      if ($http_x_bench) { rewrite ^ /chat-events last; }
      default_type application/json;
      return 200 '${CHAT.toString('latin1')}';
    }
    location = ${MESSAGES_PATH} {
      if ($http_x_bench) { rewrite ^ /message-events last; }
      default_type application/json;
      return 200 '${MESSAGE.toString('latin1')}';
    }
    location = /chat-events { default_type text/event-stream; ${returned('chat', CHAT_EVENTS)} }
    location = /message-events { default_type text/event-stream; ${returned('message', MESSAGE_EVENTS)} }
    location = /1m { root ${folder}; default_type application/octet-stream; }
  }
}
`
}

/** nginx takes no longer word in its configuration. */
const WORD_CHARS_MAX = 4000

/** Directives that answer with `texts`, joined. */
function returned(name: string, texts: readonly string[]): string {
  const words = ['']
  for (const text of texts) {
    if (words.at(-1)!.length + text.length > WORD_CHARS_MAX) words.push('')
    words.push(words.pop()! + text)
  }
  const sets = words.map((word, i) => `set $${name}_${i} '${word}';`)
  return `${sets.join(' ')} return 200 "${words.map((_, i) => `$${name}_${i}`).join('')}";`
}
