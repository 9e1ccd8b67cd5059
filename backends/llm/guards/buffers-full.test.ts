/** What guards that are services are asked, and answer, counts as what is kept: many at a time are refused. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { accountOf } from '#engine/testing/account.ts'
import { stand } from './guards.fixture.ts'
import { hook, says, service } from './service.fixture.ts'

const KIB = 1024
const CHAT = '/v1/chat/completions'
const chat = (content: string) => ({ model: 'm', messages: [{ role: 'user', content }] })
const LONG = says({ action: {}, reason: 'x'.repeat(600 * KIB) })
const SHORT = says({ action: {} })

const CASES = [
  ['the answer about a request', 'request', LONG, 'short'],
  ['the answer about an answer', 'response', LONG, 'short'],
  ['the question', 'request', SHORT, 'x'.repeat(300 * KIB)]
] as const

for (const [what, side, long, content] of CASES) {
  test(`${what} finds no room: 503 with Retry-After, also where a guard that is down lets pass`, async (t) => {
    const judge = await service(t)
    const { ask, models } = await stand(t, { [side]: [hook(judge.port, { failureMode: 'FailOpen' })] })
    const account = accountOf(t, 500 * KIB)
    judge.answer = long
    const refused = await ask(CHAT, chat(content))
    deepEqual([refused.status, refused.headers.get('retry-after')], [503, '1'])
    match(await refused.text(), /as many messages are kept in memory as may be/)
    equal(models.requests.length, side === 'request' ? 0 : 1)
    equal(account.bytes, 0)
    judge.answer = SHORT
    equal((await ask(CHAT, chat('short'))).status, 200)
    equal(account.bytes, 0)
  })
}
