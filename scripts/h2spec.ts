/** The conformance suite h2spec (summerwind/h2spec, a program of its own) against a gateway on clear text. */
import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startStack } from '#engine/testing/stack.ts'

export interface H2Report {
  /** As h2spec prints it, its last line: "145 tests, 145 passed, ...". */
  readonly summary: string
  readonly failures: string
  readonly isWhole: boolean
}

/** Needs `h2spec` on the PATH, or its place in H2SPEC. Rejects with ENOENT without one. */
export async function runH2Spec(): Promise<H2Report> {
  const origin = createServer((request, response) => {
    // Not before the request is whole: the suite wants to see what is wrong with it.
    request.on('end', () => response.end('hello'))
    request.resume()
  })
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve))
  const stack = await startStack({ upstream: (origin.address() as AddressInfo).port })
  try {
    const text = await run(['-h', '127.0.0.1', '-p', String(stack.port), '-o', '2'])
    const failures = /\nFailures:[\s\S]*/.exec(text)?.[0] ?? ''
    const summary = /\d+ tests, .*/.exec(text)?.[0] ?? 'no summary'
    return { summary, failures, isWhole: /, 0 skipped, 0 failed/.test(summary) }
  } finally {
    stack.close()
    origin.close()
    origin.closeAllConnections()
  }
}

function run(args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(process.env.H2SPEC ?? 'h2spec', args, { maxBuffer: 1 << 24 }, (error, stdout) => {
      // Failures give an exit code, and are in the text.
      if (error !== null && stdout === '') reject(error)
      else resolve(stdout)
    })
  })
}
