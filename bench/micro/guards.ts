/** Prompt guards: all builtins over texts with nothing for them, over numbers, and over a stream. */
import type { Bench } from 'tinybench'
import { BUILTIN_NAMES } from '#engine/kit/scan/builtins.ts'
import { maskText, rulesOf } from '#engine/kit/scan/rules.ts'
import { StreamText } from '#engine/kit/scan/stream-text.ts'

const RULES = rulesOf({ builtins: BUILTIN_NAMES, patterns: [] })
const UNITS = 16 * 1024
const filled = (words: string) => words.repeat(Math.ceil(UNITS / words.length)).slice(0, UNITS)

const TEXTS: Readonly<Record<string, string>> = {
  'English prose': filled('The gateway reads what a client asks, and it passes what a provider answers to it. '),
  'Russian prose': filled('Шлюз читает то, что спрашивает клиент, и передаёт ему ответ. '),
  'log lines': filled('2026-03-01T12:00:59.123Z INFO worker=3 took 12.5 ms, 200 OK, 4821 bytes from 10.1.2.3:8080\n'),
  'rows of numbers': filled('17,4821,0.5331,2026,99,128.5,7\n1 22 333 4444 55555 666666 7777777\n')
}

export function register(bench: Bench): void {
  for (const [name, text] of Object.entries(TEXTS)) {
    bench.add(`guards: 16 KiB of ${name}, whole`, () => maskText(text, RULES))
  }
  for (const [name, text] of Object.entries(TEXTS)) {
    bench.add(`guards: 16 KiB of ${name}, streamed by 16`, () => {
      const stream = new StreamText(RULES)
      for (let at = 0; at < UNITS; at += 16) {
        stream.push(text.slice(at, at + 16))
        stream.take('')
      }
      stream.end()
    })
  }
}
