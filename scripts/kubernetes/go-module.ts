/** Programs of a Go module of ours with fixed versions (go.mod, go.sum), built once, outside of the repository. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder } from '#engine/testing/conformance-cache.ts'

export class GoModule {
  readonly #folder: string
  readonly #cache: string

  /** `folder`: where go.mod is; `name`: of the cache. */
  constructor(folder: string, name: string) {
    this.#folder = folder
    const sum = createHash('sha256')
    for (const file of ['go.mod', 'go.sum']) sum.update(readFileSync(join(folder, file)))
    this.#cache = cacheFolder(name, sum.digest('hex').slice(0, 12))
  }

  /**
   * Path of the program that `go VERB PACKAGE` makes; "test -c" makes one of the tests of a package. Throws an Error
   * that says what is missing.
   */
  program(name: string, verb: readonly string[], pkg: string, linkerFlags = '-s -w'): string {
    const program = join(this.#cache, name)
    if (existsSync(program)) return program
    console.log(`conformance: building ${name}; the first time may take many minutes`)
    // One package at a time: the linker of kube-apiserver alone needs 2 GB.
    const flags = ['-mod=readonly', '-p', '1', '-trimpath', '-ldflags', linkerFlags]
    this.run([...verb, ...flags, '-o', program, pkg])
    return program
  }

  /** What `go` prints. */
  run(args: readonly string[]): string {
    try {
      execFileSync('go', ['version'], { stdio: 'ignore' })
    } catch {
      throw new Error('It is built with Go: install Go 1.26 or later, and have "go" on the PATH')
    }
    return execFileSync('nice', ['-n', '19', 'go', ...args], {
      cwd: this.#folder,
      env: { ...process.env, CGO_ENABLED: '0' },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit']
    })
  }
}
