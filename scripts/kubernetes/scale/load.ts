/** Requests at a steady rate, while everything changes: none may fail. */
import { Agent, request } from 'undici'
import { hostOf } from './objects.ts'

const INTERVAL_MS = 10

export class SteadyLoad {
  readonly #origin: string
  readonly #routes: number
  readonly #agent = new Agent({ connections: 16 })
  readonly #timer: NodeJS.Timeout
  readonly #underWay = new Set<Promise<void>>()
  #sent = 0
  readonly #failures: string[] = []

  /** `origin`: of the gateway; `routes`: the first so many are asked, in turns. */
  constructor(origin: string, routes: number) {
    this.#origin = origin
    this.#routes = routes
    this.#timer = setInterval(() => this.#send(), INTERVAL_MS)
  }

  get sent(): number {
    return this.#sent
  }

  get failures(): readonly string[] {
    return this.#failures
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await Promise.all(this.#underWay)
    await this.#agent.close()
  }

  #send(): void {
    const exchange = this.#ask(hostOf(this.#sent++ % this.#routes)).finally(() => this.#underWay.delete(exchange))
    this.#underWay.add(exchange)
  }

  async #ask(host: string): Promise<void> {
    try {
      const { statusCode, body } = await request(this.#origin, { dispatcher: this.#agent, headers: { host } })
      const text = await body.text()
      if (statusCode !== 200) this.#failures.push(`${host}: ${statusCode} ${text.slice(0, 200)}`)
    } catch (error) {
      this.#failures.push(`${host}: ${(error as Error).message}`)
    }
  }
}
