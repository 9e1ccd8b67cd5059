/**
 * Credentials of a program that a kubeconfig names (users[].user.exec), by the rules of client-go: made when they are
 * needed first, kept until they expire, and made again once when the API server refuses them. Not of client-go: a
 * program has an end, and one of which nothing good comes is run again after pauses.
 */
import type { Time } from '#engine/contract/time.ts'
import { Backoff } from '#engine/kubernetes/client/backoff.ts'
import { z } from '#engine/schema/schema.ts'
import { EXEC_API_VERSIONS, type ExecCluster, type ExecCredential, execInfo, readExecCredential } from './credential.ts'
import { outputOf } from './program.ts'

/** Absent in v1beta1: IfAvailable. */
const MODES = ['Never', 'IfAvailable', 'Always'] as const

export const EXEC = z.looseObject({
  apiVersion: z.enum(EXEC_API_VERSIONS),
  command: z.string().min(1),
  args: z.array(z.string()).nullish(),
  env: z.array(z.looseObject({ name: z.string().min(1), value: z.string().default('') })).nullish(),
  installHint: z.string().nullish(),
  provideClusterInfo: z.boolean().nullish(),
  interactiveMode: z.enum(MODES).optional()
})

export interface ExecOptions {
  readonly spec: z.infer<typeof EXEC>
  /** Its path, or a name that is looked up in PATH. */
  readonly command: string
  /** Read when the program is run: files may be renewed. */
  readonly cluster: () => ExecCluster
  readonly env: Readonly<Record<string, string | undefined>>
  /** Standard input is a terminal. */
  readonly hasTerminal: boolean
  readonly time: Time
}

/** A program that was not run for so long begins with short pauses again. */
const CALM_MS = 60_000

export class ExecCredentials {
  readonly #options: ExecOptions
  readonly #isInteractive: boolean
  readonly #backoff: Backoff
  #credential: ExecCredential | null = null
  #running: Promise<ExecCredential> | null = null
  /** When it was run last, of the monotonic clock. */
  #ranAt = -Infinity

  /** Throws an Error when it needs a terminal and there is none, or does not say whether. */
  constructor(options: ExecOptions) {
    const { spec, hasTerminal, time } = options
    const { interactiveMode: mode = spec.apiVersion.endsWith('/v1') ? null : 'IfAvailable' } = spec
    if (mode === null) throw new Error(`interactiveMode: is required: ${MODES.join(', ')}`)
    if (mode === 'Always' && !hasTerminal)
      throw new Error('interactiveMode: Always: standard input is no terminal; use IfAvailable or Never')
    this.#options = options
    this.#isInteractive = mode !== 'Never' && hasTerminal
    this.#backoff = new Backoff(time)
  }

  /** Of all who ask at the same time the program is run once. Rejects with an Error that says why there are none. */
  current(): Promise<ExecCredential> {
    const known = this.#credential
    if (known !== null && !this.#isOver(known)) return Promise.resolve(known)
    this.#running ??= this.#run().finally(() => {
      this.#running = null
    })
    return this.#running
  }

  /** It is not used any more; what was made since then is. */
  refused(credential: ExecCredential): void {
    if (this.#credential === credential) this.#credential = null
  }

  #isOver({ expiresAt }: ExecCredential): boolean {
    return expiresAt !== null && this.#options.time.wallNow() > expiresAt
  }

  async #run(): Promise<ExecCredential> {
    const { spec, command, cluster, time } = this.#options
    await this.#calm()
    const info = execInfo(spec.apiVersion, this.#isInteractive, spec.provideClusterInfo === true ? cluster() : null)
    const own = Object.fromEntries((spec.env ?? []).map(({ name, value }) => [name, value]))
    try {
      const output = await outputOf({
        command,
        args: spec.args ?? [],
        env: { ...this.#options.env, ...own, KUBERNETES_EXEC_INFO: info },
        isInteractive: this.#isInteractive,
        installHint: spec.installHint ?? '',
        after: time.after
      })
      this.#credential = readExecCredential(output, spec.apiVersion)
      return this.#credential
    } finally {
      this.#ranAt = time.now()
    }
  }

  /** The first run and one after a while are at once. */
  async #calm(): Promise<void> {
    const { time } = this.#options
    const idleMs = time.now() - this.#ranAt
    if (idleMs >= CALM_MS) return this.#backoff.reset()
    const pauseMs = this.#backoff.pauseMs() - idleMs
    if (pauseMs > 0) await new Promise<void>((resolve) => time.after(pauseMs, resolve))
  }
}
