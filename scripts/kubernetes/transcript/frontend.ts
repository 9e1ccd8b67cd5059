/** Section 2.6, frontend: each field, seen from a client, from the node, or in what is written of requests. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { accepted, addressOf, applied, askOf, body, code, manifests, refused } from './commands.ts'
import { awaited, type Step, seen } from './steps.ts'

const FRONT = addressOf('front')
const ASK_FRONT = askOf('front')
const handshake = (more: string): string =>
  `openssl s_client -connect ${FRONT}:8443 ${more} </dev/null 2>&1 | grep -E 'alert|ALPN|^New'`
/** Until the gateway closes it; 124: it does not. */
const held = (port: number, sent: string): string =>
  `timeout 20 bash -c 'exec 3<>/dev/tcp/$0/${port}; ${sent}cat <&3 >/dev/null' ${FRONT}; echo closed: $?`
const logOf = (deployment: string, pattern: string): string =>
  `kubectl -n chat logs deployment/${deployment} | grep '${pattern}'`

export const FRONTEND_FIELDS: Step = {
  title: '2.6 frontend, seen from outside',
  text: "A Gateway of its own, with HTTPS. `in-pod` runs a program in the network of its pod: only the node sees TCP's timers. `http2.js` prints what the gateway tells it by HTTP/2, and does not answer PINGs.",
  files: {
    ...manifests('front', 'no-front'),
    'http2.js': readFileSync(join(import.meta.dirname, 'rows', 'http2.js'), 'utf8')
  },
  commands: [
    seen(
      `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=front -keyout front.key -out front.crt 2>/dev/null; kubectl -n chat create secret tls front --cert front.crt --key front.key`,
      /created/
    ),
    applied('front'),
    refused('no-front'),
    awaited('kubectl -n chat get gateway front', /front +weir +\S+ +True/),
    accepted('gatewaypolicies', ['front', 'read-whole']),
    awaited(
      `bash -c 'exec 3<>/dev/tcp/$0/8080; sleep 0.2; in-pod front ss -tnoH state established sport = :8080' ${FRONT}`,
      /timer:\(keepalive,(?:60|59|1min|\d+sec)/
    ),
    awaited(
      handshake('-alpn h2,http/1.1'),
      /TLSv1.2, Cipher is ECDHE-ECDSA-AES128-GCM-SHA256[\s\S]*ALPN protocol: http\/1.1/
    ),
    awaited(handshake('-tls1_3'), /alert protocol version/),
    awaited(handshake('-tls1_2 -cipher ECDHE-ECDSA-AES256-GCM-SHA384'), /alert handshake failure/),
    seen(held(8443, ''), /closed: 0/),
    seen(
      `kubectl -n chat patch gatewaypolicy front --type json -p '[{"op":"replace","path":"/spec/frontend/tls","value":{"minProtocolVersion":"1.3"}}]'`,
      /patched/
    ),
    awaited(handshake('-tls1_2'), /alert protocol version/),
    awaited(handshake('-alpn h2,http/1.1'), /TLSv1.3[\s\S]*ALPN protocol: h2/),
    body('/read', '-d short', /x-body: 5[\s\S]*200$/, ASK_FRONT),
    code('/read', `-d "$(seq 100)"`, /413/, ASK_FRONT),
    code('/seen', `-d "$(seq 100)"`, /200/, ASK_FRONT),
    code('/seen', `$(for i in $(seq 20); do echo "-H x-$i:1"; done)`, /431/, ASK_FRONT),
    seen(held(8080, String.raw`printf "GET /seen HTTP/1.1\r\nhost: a\r\n\r\n" >&3; `), /closed: 0/),
    seen(
      `kubectl -n chat patch gatewaypolicy front --type json -p '[{"op":"remove","path":"/spec/frontend/http/http1IdleTimeout"}]'`,
      /patched/
    ),
    awaited(
      `node http2.js ${FRONT}`,
      /stream window 70000[\s\S]*frames up to 32768[\s\S]*connection window 2000000[\s\S]*PING[\s\S]*closed/
    ),
    code('/unseen', '', /404/, ASK_FRONT),
    awaited(logOf('front-weir', '/seen'), /team=(?:"?)chat/),
    seen(`kubectl -n chat logs deployment/front-weir | grep -cE '/unseen|http.method'`, /^0\n$/),
    awaited(logOf('collector', '/seen'), /"team":"chat".*"service.name":"front"/),
    seen(
      `${ASK_FRONT}/seen -o /dev/null -H 'traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' -w '%{http_code}'`,
      /200/
    ),
    seen(`sleep 6; kubectl -n chat logs deployment/collector | grep -c 0af7651916cd43dd8448eb211c80319c`, /^0\n$/)
  ]
}
