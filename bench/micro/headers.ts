/** The header table: what looking up and forwarding a head costs. */
import type { Bench } from 'tinybench'
import { HeaderBlock } from '#engine/http/headers.ts'

/** Calls per sample: one call is shorter than the clock can tell. */
export const calls = 1000

const FIELDS: readonly (readonly [string, string])[] = [
  ['Host', 'bench.example.com'],
  ['User-Agent', 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)'],
  ['Accept', 'application/json, text/plain, */*'],
  ['Accept-Encoding', 'gzip, deflate, br'],
  ['Accept-Language', 'en-GB,en;q=0.9'],
  ['Authorization', 'Bearer 0123456789abcdef0123456789abcdef'],
  ['Cookie', 'session=6c9b1f2e3d4a5b6c; theme=dark'],
  ['Connection', 'keep-alive'],
  ['Cache-Control', 'no-cache'],
  ['X-Request-Id', '7f3c2a10-5b1e-4c7d-9a50-1d2e3f405162']
]

export function register(bench: Bench): void {
  const whole = received()
  add(bench, 'get the last of ten', () => whole.get('x-request-id')!.length)
  add(bench, 'get one that is missing', () => (whole.get('x-missing') === undefined ? 1 : 0))
  add(bench, 'lines of ten', () => whole.lines().length)
  const edited = received()
  edited.remove('connection')
  edited.set('X-Forwarded-For', '192.0.2.1')
  add(bench, 'lines of ten, one dropped, one added', () => edited.lines().length)
}

function received(): HeaderBlock {
  const block = new HeaderBlock()
  for (const [name, value] of FIELDS) block.receive(name, value)
  return block
}

/** The sum is used, or the compiler would remove the calls. */
function add(bench: Bench, what: string, call: () => number): void {
  let sum = 0
  bench.add(`headers: ${what}`, () => {
    for (let i = 0; i < calls; i++) sum += call()
    if (sum < 0) throw new Error('lengths are never negative')
  })
}
