/**
 * What `npm test` reads of a process of tests: each test that failed, with its place and why, and the counts. A run of
 * thousands says what is wrong on its last lines, instead of somewhere among all that is right.
 * https://nodejs.org/docs/latest-v22.x/api/test.html#custom-reporters
 */
import { relative } from 'node:path'
import { inspect } from 'node:util'
import { ROOT } from './files.ts'

/** The part of node's events that is read here. */
export interface TestEvent {
  readonly type: string
  readonly data: {
    readonly name?: string
    readonly file?: string
    readonly line?: number
    readonly message?: string
    readonly nesting?: number
    readonly details?: { readonly error?: Error & { failureType?: string; cause?: unknown } }
  }
}

/** What a line of a failed test begins with: `npm test` repeats these lines at its end. */
export const FAILED = 'not ok: '

/** A suite fails with what is in it, which has its own line. */
const OF_OTHERS = 'subtestsFailed'

function failed({ name = '', file, line, details }: TestEvent['data']): string {
  const place = file === undefined ? '' : ` (${relative(ROOT, file)}:${line})`
  const error = details?.error
  const why = error === undefined ? '' : `${inspect(error.cause ?? error, { depth: 6 }).replaceAll(/^/gm, '    ')}\n`
  return `${FAILED}${name.replaceAll(/\s+/g, ' ')}${place}\n${why}`
}

export default async function* reporter(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const { type, data } of events) {
    if (type === 'test:fail' && data.details?.error?.failureType !== OF_OTHERS) yield failed(data)
    // Counts, and what was thrown outside of every test.
    if (type === 'test:diagnostic' && data.nesting === 0) yield `# ${data.message}\n`
  }
}
