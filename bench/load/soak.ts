/**
 * A long run of chat requests through Weir, whole and streamed, native, translated and guarded, to see whether what it
 * holds grows with them. Memory is gated by what the heap holds after a collection, which says the same on every
 * machine; resident bytes are reported.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { answerOf, end } from '#bench/forked.ts'
import { CHAT_PATH } from './backend/models.ts'
import { type Backend, startBackend } from './backend.ts'
import type { ExpectedName } from './expected.ts'
import type { Job } from './generator/job.ts'
import { type Generator, startGenerator } from './generator.ts'
import { placement } from './machine.ts'
import type { Look, SoakArgs } from './soak/subject.ts'
import { jobOf, WORKLOADS } from './workloads.ts'

/** Named where it fails. */
const PROCESS = 'the process of the soak'

/** One kind of request: the route that it takes, and what must come. */
interface Kind {
  readonly route: string
  /** Whose requests are sent. */
  readonly workload: string
  readonly answer: ExpectedName
}

/** What runs together, kind after kind within each part. */
export interface Course {
  readonly name: string
  readonly kinds: readonly Kind[]
  /** Of its own, instead of that of the run. */
  readonly size?: Size
}

const whole = { route: 'native', workload: 'chat-native', answer: 'chat' } as const
const wholeTranslated = { route: 'converted', workload: 'chat-converted', answer: 'convertedChat' } as const
const events = { workload: 'chat-first-native', answer: 'chatAtOnce' } as const
const eventsTranslated = { workload: 'chat-first-converted', answer: 'convertedEvents' } as const

export const COURSES: readonly Course[] = [
  { name: 'whole answers, native and translated', kinds: [whole, wholeTranslated] },
  {
    name: 'streams, native and translated',
    kinds: [
      { route: 'native', ...events },
      { route: 'converted', ...eventsTranslated }
    ]
  },
  {
    name: 'guarded, whole and streamed, native and translated',
    kinds: [
      { ...whole, route: 'native-guarded' },
      { route: 'native-guarded', ...events },
      { ...wholeTranslated, route: 'converted-guarded' },
      { route: 'converted-guarded', ...eventsTranslated }
    ]
  }
]

const PARTS = 10
/** Of the parts, ahead of which the program still warms up: tables grow, code is compiled. */
const SETTLED = 0.3
const GRACE_MS = 600_000
const CONNECTIONS = 64
/** An object of one field takes 16 bytes: one kept per request is twice this. Code that is compiled late is less. */
const HEAP_BYTES_MAX = 8
/** Of sockets and of timers, per request: one in a thousand is no chance. */
const HANDLES_MAX = 0.001

export interface Soak {
  readonly course: string
  /** Of each part. */
  readonly requests: number
  /** After each part. */
  readonly looks: readonly Look[]
  readonly faults: number
}

export interface Size {
  /** Of each course. */
  readonly requests: number
  /** Looks at the process: half a second each. */
  readonly parts?: number
  /** Kept per request, to show that it is seen. */
  readonly leakBytes?: number
}

export async function runSoak(size: Size, courses = COURSES): Promise<Soak[]> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-soak-'))
  const backend = await startBackend(folder, placement(1).load)
  const generator = startGenerator(placement(1).load)
  const soaks: Soak[] = []
  try {
    for (const course of courses) soaks.push(await runCourse(course, size, backend, generator))
  } finally {
    await Promise.all([generator.stop(), backend.stop()])
    rmSync(folder, { recursive: true, force: true })
  }
  return soaks
}

async function runCourse(
  { name, kinds, size: own }: Course,
  size: Size,
  { fixedPort }: Backend,
  generator: Generator
): Promise<Soak> {
  const { requests, parts = PARTS, leakBytes = 0 } = own ?? size
  const subject = launch({ configuration: configuration(fixedPort), leakBytes })
  try {
    const { port } = await answerOf<{ port: number }>(subject, PROCESS)
    const count = Math.max(1, Math.floor(requests / parts / kinds.length))
    const looks: Look[] = []
    let faults = 0
    for (let part = 0; part < parts; part++) {
      for (const kind of kinds) {
        const { faults: found, answers } = await generator.run({
          ...jobOfKind(kind, port, count),
          pids: [subject.pid!]
        })
        faults += Object.values(found).reduce((sum, n) => sum + n, 0) + count - answers
      }
      looks.push(await ask<Look>(subject))
    }
    return { course: name, requests: count * kinds.length, looks, faults }
  } finally {
    await end(subject)
  }
}

function jobOfKind({ route, workload, answer }: Kind, port: number, count: number): { job: Job; answer: ExpectedName } {
  const base = jobOf(WORKLOADS.find(({ name }) => name === workload)!)
  const requests = base.requests.map((text) => text.replace(CHAT_PATH, `/${route}${CHAT_PATH}`))
  const timing = { mode: 'closed', warmupMs: 0, windowMs: 0, count, rate: 0, graceMs: GRACE_MS } as const
  return { job: { ...base, ...timing, requests, port, connections: CONNECTIONS }, answer }
}

/** A guard each way that has something to do: it masks each question, and looks for numbers in each answer. */
const GUARDS = {
  request: [{ regex: { matches: ['capital'], action: 'Mask' } }],
  response: [{ regex: { builtins: ['Ssn', 'CreditCard', 'PhoneNumber', 'Email'] } }]
}
const LIMIT = { local: [{ tokens: 1_000_000_000, unit: 'Hours', key: "request.headers['x-request-id']" }] }

function configuration(upstreamPort: number): object {
  const routes = (['openai', 'anthropic'] as const).flatMap((type) =>
    [false, true].map((isGuarded) => {
      const name = `${type === 'openai' ? 'native' : 'converted'}${isGuarded ? '-guarded' : ''}`
      const provider = { [type]: {}, host: '127.0.0.1', port: upstreamPort }
      const ai = { provider, ...(isGuarded ? { promptGuard: GUARDS } : {}) }
      const matches = [{ path: { pathPrefix: `/${name}` } }]
      return { name, matches, policies: { rateLimit: LIMIT }, backends: [{ ai }] }
    })
  )
  return {
    config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: 'warn' } },
    binds: [{ port: 0, listeners: [{ routes }] }]
  }
}

/** Rise per step of the line that fits `values` best. */
export function slopeOf(values: readonly number[]): number {
  const middle = (values.length - 1) / 2
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const rise = values.reduce((sum, value, i) => sum + (i - middle) * (value - mean), 0)
  const run = values.reduce((sum, _, i) => sum + (i - middle) ** 2, 0)
  return run === 0 ? 0 : rise / run
}

/** What stays per request, by measure; from the settled parts. */
function growth({ looks, requests }: Soak): Look {
  const of = (thing: keyof Look) => slopeOf(looks.slice(looks.length * SETTLED).map((look) => look[thing])) / requests
  return { rssBytes: of('rssBytes'), heapBytes: of('heapBytes'), sockets: of('sockets'), timers: of('timers') }
}

/** What is wrong with it; empty: nothing. */
export function complaints(soak: Soak): string[] {
  const { heapBytes, sockets, timers } = growth(soak)
  return [
    ...(soak.faults > 0 ? [`${soak.faults} wrong or missing answers`] : []),
    ...(heapBytes > HEAP_BYTES_MAX ? [`the heap keeps more than ${HEAP_BYTES_MAX} bytes per request`] : []),
    ...(sockets > HANDLES_MAX ? ['sockets stay open'] : []),
    ...(timers > HANDLES_MAX ? ['timers stay'] : [])
  ]
}

export function soakText(soak: Soak): string {
  const { looks, requests, course } = soak
  const mb = (bytes: number) => (bytes / 2 ** 20).toFixed(2)
  const row = (name: string, cells: readonly string[]) => `  ${name.padEnd(8)} ${cells.join(' ')}`
  const { rssBytes, heapBytes } = growth(soak)
  const wrong = complaints(soak)
  return [
    `${course}: ${requests * looks.length} requests, looked at after each ${requests}`,
    row(
      'heap MB',
      looks.map((look) => mb(look.heapBytes))
    ),
    row(
      'RSS MB',
      looks.map((look) => mb(look.rssBytes))
    ),
    row(
      'sockets',
      looks.map((look) => String(look.sockets))
    ),
    row(
      'timers',
      looks.map((look) => String(look.timers))
    ),
    `  per request: heap ${heapBytes.toFixed(2)} bytes, RSS ${rssBytes.toFixed(1)}; ${wrong.length === 0 ? 'ok' : `FAILED: ${wrong.join(', ')}`}`
  ].join('\n')
}

/** The flag lets the process collect on demand; the rest of V8 is as it ships. It ends with the channel. */
function launch(args: SoakArgs): ChildProcess {
  const program = fileURLToPath(new URL('./soak/subject.ts', import.meta.url))
  return fork(program, [JSON.stringify(args)], { execArgv: ['--disable-warning=ExperimentalWarning', '--expose-gc'] })
}

function ask<T>(child: ChildProcess): Promise<T> {
  const reply = answerOf<T>(child, PROCESS)
  child.send('look')
  return reply
}
