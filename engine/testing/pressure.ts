/** A bounded load of keepalive clients that checks every answer: for tests that change something under it. */
import { type RawClient, rawClient } from './raw.ts'

export interface Pressure {
  /** Answers so far. */
  answers(): number
  /** Resolves when `count` more answers have come. */
  more(count: number): Promise<void>
  /** Stops after the answers under way. What went wrong, by kind: empty when nothing did. */
  stop(): Promise<readonly string[]>
}

export interface PressureOptions {
  readonly port: number
  readonly connections: number
  readonly path: string
  /** The whole body of a right answer. */
  readonly isRight: (body: string) => boolean
  /** Connections that end between two answers are opened again; this says whether that is a failure. */
  readonly mayClose: boolean
}

/** Every client sends its next request when it has the answer to the one before. */
export function startPressure(options: PressureOptions): Pressure {
  const faults: string[] = []
  let answers = 0
  let running = true
  let waiting: { at: number; resolve: () => void; reject: (error: Error) => void }[] = []
  let left = options.connections

  function answered(): void {
    answers++
    for (const waiter of waiting) if (waiter.at <= answers) waiter.resolve()
    waiting = waiting.filter(({ at }) => at > answers)
  }

  async function serve(client: RawClient): Promise<void> {
    while (running) {
      client.received = ''
      client.send(`GET ${options.path} HTTP/1.1\r\nHost: test\r\n\r\n`)
      const body = await wholeAnswer(client)
      if (body === null) {
        if (!options.mayClose || client.received !== '') faults.push(`closed after ${JSON.stringify(client.received)}`)
        return
      }
      if (options.isRight(body)) answered()
      else faults.push(`wrong answer: ${client.received.slice(0, 200)}`)
    }
  }

  async function run(): Promise<void> {
    while (running) {
      const client = await rawClient(options.port)
      await serve(client)
      client.close()
    }
  }

  const clients = Array.from({ length: options.connections }, () =>
    run()
      .catch((error: unknown) => {
        faults.push(String(error))
      })
      .finally(() => {
        if (--left > 0 || !running) return
        for (const waiter of waiting) waiter.reject(new Error(`every client has given up: ${faults.join('; ')}`))
      })
  )
  return {
    answers: () => answers,
    more: (count) => new Promise((resolve, reject) => waiting.push({ at: answers + count, resolve, reject })),
    async stop() {
      running = false
      await Promise.all(clients)
      return faults
    }
  }
}

/** The body of one answer with Content-Length, or null when the connection ended before it was whole. */
async function wholeAnswer(client: RawClient): Promise<string | null> {
  try {
    await client.until('\r\n\r\n')
    const head = client.received.indexOf('\r\n\r\n') + 4
    const length = Number(/content-length: (\d+)/i.exec(client.received)?.[1])
    await client.until(new RegExp(`^[^]{${head + length}}`))
    return client.received.slice(head)
  } catch {
    // The connection ended: the caller knows whether it may.
    return null
  }
}
