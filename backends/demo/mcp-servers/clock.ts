/** Knows what time it is, counts down, and calculates. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Json, Parts, Tool } from './server.ts'

const STEPS_MAX = 20
const STEP_MS = 250

const READ_ONLY = { readOnlyHint: true, openWorldHint: false }

const now: Tool = {
  name: 'now',
  title: 'What time it is',
  description: 'Date and time of a time zone, in ISO 8601.',
  inputSchema: {
    type: 'object',
    properties: { timeZone: { type: 'string', description: 'An IANA name such as Europe/Berlin. Default: UTC' } }
  },
  annotations: READ_ONLY,
  run({ timeZone = 'UTC' }) {
    const at = new Date()
    try {
      const text = at.toLocaleString('sv-SE', { timeZone: String(timeZone), timeZoneName: 'longOffset' })
      return text.replace(' ', 'T').replace(' GMT', '')
    } catch {
      // Intl has only a class of errors for it.
      throw new Error(`there is no time zone ${JSON.stringify(String(timeZone).slice(0, 60))}`)
    }
  }
}

const OPERATIONS: Readonly<Record<string, (a: number, b: number) => number>> = {
  add: (a, b) => a + b,
  subtract: (a, b) => a - b,
  multiply: (a, b) => a * b,
  divide: (a, b) => a / b
}

const calculate: Tool = {
  name: 'calculate',
  title: 'Calculate',
  description: 'Two numbers and what to do with them.',
  inputSchema: {
    type: 'object',
    properties: {
      operation: { type: 'string', enum: Object.keys(OPERATIONS) },
      a: { type: 'number' },
      b: { type: 'number' }
    },
    required: ['operation', 'a', 'b']
  },
  annotations: READ_ONLY,
  run({ operation, a, b }) {
    const run = Object.hasOwn(OPERATIONS, String(operation)) ? OPERATIONS[String(operation)]! : null
    if (run === null) throw new Error(`operation is one of ${Object.keys(OPERATIONS).join(', ')}`)
    if (typeof a !== 'number' || typeof b !== 'number') throw new Error('a and b are numbers')
    const value = run(a, b)
    if (!Number.isFinite(value)) throw new Error('that is no number')
    return String(value)
  }
}

const countdown: Tool = {
  name: 'countdown',
  title: 'Count down',
  description: 'Counts down, four steps a second, and tells its progress to who asks for it.',
  inputSchema: {
    type: 'object',
    properties: { from: { type: 'integer', minimum: 1, maximum: STEPS_MAX } },
    required: ['from']
  },
  annotations: READ_ONLY,
  async run({ from }: Json, { progress, signal }) {
    if (typeof from !== 'number' || !Number.isInteger(from) || from < 1 || from > STEPS_MAX)
      throw new Error(`from is a whole number from 1 to ${STEPS_MAX}`)
    for (let step = 1; step <= from; step++) {
      progress(step, from, `${from - step} to go`)
      // After it: clients stop listening for progress when the answer comes with the last of it.
      await pause(STEP_MS, undefined, { signal })
    }
    return 'Lift-off'
  }
}

export function clock(version: string): Parts {
  return {
    name: 'weir-demo-clock',
    version,
    instructions: 'Ask this server for the time and for sums rather than guess.',
    tools: [now, calculate, countdown]
  }
}
