/** A transcript of curl before gateways, each answer of which has to be the one that is expected. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

export interface Step {
  /** Which gateway is asked. */
  readonly at: string
  readonly path: string
  /** Arguments of curl. */
  readonly more?: readonly string[]
  readonly status: number
  /** A part of the answer; letters of either case are one. */
  readonly has?: string
}

export class Transcript<S extends Step> {
  readonly #ports: Readonly<Record<string, number>>
  readonly #shown: RegExp
  readonly #print: (line: string) => void
  readonly #holds: (step: S) => Promise<boolean>
  passed = 0
  failed = 0

  /** `ports` of gateways by name; `shown`: lines of answers that are printed; `holds`: what else must be so. */
  constructor(
    ports: Readonly<Record<string, number>>,
    shown: RegExp,
    print: (line: string) => void,
    holds: (step: S) => Promise<boolean> = () => Promise.resolve(true)
  ) {
    this.#ports = ports
    this.#shown = shown
    this.#print = print
    this.#holds = holds
  }

  async take(steps: readonly S[]): Promise<void> {
    for (const step of steps) {
      const { at, path, more = [], status, has = '' } = step
      const url = `http://127.0.0.1:${this.#ports[at]}${path}`
      const { stdout } = await promisify(execFile)('curl', ['-si', '--max-time', '10', ...more, url])
      this.#print(`$ curl -si http://${at}${path} ${more.map(quoted).join(' ')}`.trimEnd())
      for (const line of stdout.split(/\r?\n/)) if (this.#shown.test(line)) this.#print(line)
      const isRight = stdout.startsWith(`HTTP/1.1 ${status} `) && stdout.toLowerCase().includes(has.toLowerCase())
      if (isRight && (await this.#holds(step))) this.passed++
      else {
        this.failed++
        this.#print(`FAILED: not ${status}${has === '' ? '' : ` with ${has}`}`)
      }
    }
  }
}

const quoted = (word: string): string => (/^[\w-]+$/.test(word) ? word : `'${word}'`)
