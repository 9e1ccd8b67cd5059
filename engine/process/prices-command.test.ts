/** `weir prices` as a process: what it prints, and its exit codes. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { runProgram } from '#engine/testing/program.ts'

async function run(...args: readonly string[]): Promise<readonly [number | null, string]> {
  const program = runProgram(['prices', ...args])
  return [await program.exited(), program.output]
}

const config = (models: readonly object[], prices: object | null = {}) =>
  JSON.stringify({ ...(prices === null ? {} : { config: { prices } }), llm: { models } })

const FAR = '99999'
const MINI = { name: 'gpt-4o-mini', provider: 'openai' }

test('check: 0 where all have a price, 1 where one has none or is older, 3 for what is no configuration', async () => {
  const known = await run('check', '--older', FAR, '-c', config([MINI]))
  deepEqual(known, [0, '1 model: 0 without a price, 0 with an old one\n'])
  const [code, text] = await run(
    'check',
    '--older',
    FAR,
    '-c',
    config([MINI, { name: 'mine', provider: 'openai' }], null)
  )
  equal(code, 1)
  match(text, /^no price .*\n {2}openai mine \(llm\/models\)\nconfig\.prices is not in the file/)
  const [old, list] = await run('check', '--older', '0', '-c', config([MINI]))
  equal(old, 1)
  match(list, /looked up more than 0 days ago\n {2}openai gpt-4o-mini: of the catalogue, 20\d\d-\d\d-\d\d, https:/)
  equal((await run('check', '-c', '{ nothing: 1 }'))[0], 3)
})

test('check without a configuration looks at the catalogue alone', async () => {
  const [code, text] = await run('check', '--older', FAR)
  equal(code, 0)
  match(
    text,
    /one collection alone has the price[\s\S]*the catalogue: 0 old rows, \d+ of one collection; -f FILE checks/
  )
})

test('check for programs, and a name that would steer a terminal', async () => {
  const [code, text] = await run(
    'check',
    '--json',
    '--older',
    FAR,
    '-c',
    config([MINI, { name: 'a\u001b[2J', provider: 'openai' }])
  )
  const { currency, models } = JSON.parse(text) as { currency: string; models: { model: string; verdict: string }[] }
  deepEqual([code, currency, models.map(({ verdict }) => verdict)], [1, 'USD', ['priced', 'unknown']])
  const [, shown] = await run('check', '-c', config([{ name: 'a\u001b[2J', provider: 'openai' }]))
  equal(shown.includes('\u001b'), false)
})

test('show: a model at each provider, one provider, a row of the file first; 1 for a name that nobody has', async () => {
  const [code, text] = await run('show', 'gpt-4o-mini-2024-07-18')
  equal(code, 0)
  match(text, /^openai gpt-4o-mini\n {2}of the catalogue[\s\S]*\n\nazureopenai gpt-4o-mini\n/)
  const one = await run(
    'show',
    'openai/gpt-4o-mini',
    '--json',
    '-c',
    config([MINI], { models: [{ model: 'gpt-4o*', input: 1 }] })
  )
  const { rows } = JSON.parse(one[1]) as { rows: { model: string; origin: string; input: string }[] }
  deepEqual(
    rows.map(({ model, origin, input }) => [model, origin, input]),
    [
      ['gpt-4o*', 'config', '1'],
      ['gpt-4o-mini', 'catalogue', '0.15']
    ]
  )
  equal((await run('show', 'voyage'))[1].match(/^voyage /gm)?.length, 15)
  const [missing, why] = await run('show', 'gpt-4o-mino')
  deepEqual([missing, why], [1, 'weir: there is no price for "gpt-4o-mino"; did you mean gpt-4o-mini?\n'])
})
