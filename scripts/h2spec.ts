/**
 * The conformance suite h2spec (summerwind/h2spec) against a gateway on clear text. It is built with Go, once, in the
 * version of h2spec/go.mod: the newest that the Go module proxy has under this name.
 */
import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { startStack } from '#engine/testing/stack.ts'
import { GoModule } from './kubernetes/go-module.ts'

export interface H2Report {
  /** As h2spec prints it, its last line: "145 tests, 145 passed, ...". */
  readonly summary: string
  readonly failures: string
  readonly isWhole: boolean
}

/** Throws an Error that says what is missing to build the suite. */
export async function runH2Spec(): Promise<H2Report> {
  const program = new GoModule(join(import.meta.dirname, 'h2spec'), 'h2spec').program(
    'h2spec',
    ['build'],
    'github.com/summerwind/h2spec/cmd/h2spec'
  )
  const origin = createServer((request, response) => {
    // Not before the request is whole: the suite wants to see what is wrong with it.
    request.on('end', () => response.end('hello'))
    request.resume()
  })
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve))
  const stack = await startStack({ upstream: (origin.address() as AddressInfo).port })
  try {
    const text = await run(program, ['-h', '127.0.0.1', '-p', String(stack.port), '-o', '2'])
    const failures = /\nFailures:[\s\S]*/.exec(text)?.[0] ?? ''
    const summary = /\d+ tests, .*/.exec(text)?.[0] ?? 'no summary'
    return { summary, failures, isWhole: /, 0 skipped, 0 failed/.test(summary) }
  } finally {
    stack.close()
    origin.close()
    origin.closeAllConnections()
  }
}

function run(program: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { maxBuffer: 1 << 24 }, (error, stdout) => {
      // Failures give an exit code, and are in the text.
      if (error !== null && stdout === '') reject(error)
      else resolve(stdout)
    })
  })
}
