/** envoyproxy/ratelimit before a Redis, each at ports of its own. Needs Go, redis-server and redis-cli. */
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { freePort } from '#bench/load/ports.ts'
import { RunningProgram } from '#engine/testing/program.ts'
import { goProgram } from './go-program.ts'

const PROGRAM = 'github.com/envoyproxy/ratelimit/src/service_cmd'
/** The project has no versions but this kind. */
export const RATELIMIT_VERSION = 'v1.4.1-0.20260122083618-3fb702589d36'
const START_MS_MAX = 60_000
const RETRY_MS = 50

export interface RateLimitServer {
  readonly grpcPort: number
  readonly redisVersion: string
  /** Keys of Redis with their values, sorted; the second of a window is left out of its key. */
  counters(): string[]
  stop(): Promise<void>
  /** At the same ports as before. */
  start(): Promise<void>
  close(): Promise<void>
}

/** `limits`: files of the service by name. */
export async function startRateLimit(limits: Readonly<Record<string, string>>): Promise<RateLimitServer> {
  const program = goProgram(PROGRAM, RATELIMIT_VERSION)
  const folder = mkdtempSync(join(tmpdir(), 'weir-ratelimit-'))
  const config = join(folder, 'ratelimit', 'config')
  mkdirSync(config, { recursive: true })
  for (const [name, text] of Object.entries(limits)) writeFileSync(join(config, name), text)
  const [redisPort, httpPort, grpcPort, debugPort] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort()
  ]
  const redis = run('redis-server', ['--port', `${redisPort}`, '--bind', '127.0.0.1', '--save', '', '--dir', folder])
  await redis.logged('Ready to accept connections')
  const env = {
    USE_STATSD: 'false',
    LOG_LEVEL: 'warn',
    RUNTIME_ROOT: folder,
    RUNTIME_SUBDIRECTORY: 'ratelimit',
    RUNTIME_WATCH_ROOT: 'false',
    REDIS_SOCKET_TYPE: 'tcp',
    REDIS_URL: `127.0.0.1:${redisPort}`,
    HOST: '127.0.0.1',
    PORT: `${httpPort}`,
    GRPC_HOST: '127.0.0.1',
    GRPC_PORT: `${grpcPort}`,
    DEBUG_HOST: '127.0.0.1',
    DEBUG_PORT: `${debugPort}`
  }
  let service: RunningProgram | null = null
  const cli = (...args: string[]) =>
    execFileSync('redis-cli', ['-p', `${redisPort}`, ...args], { encoding: 'utf8' }).trim()
  const own: RateLimitServer = {
    grpcPort,
    redisVersion: /redis_version:(\S+)/.exec(cli('info', 'server'))?.[1] ?? 'unknown',
    counters() {
      const keys = cli('keys', '*')
        .split('\n')
        .filter((key) => key !== '')
      return keys.map((key) => `${key.replace(/_\d+$/, '')} = ${cli('get', key)}`).sort()
    },
    async stop() {
      await service?.stop()
      service = null
    },
    async start() {
      service = run(program, [], env)
      await isHealthy(`http://127.0.0.1:${httpPort}/healthcheck`)
    },
    async close() {
      await own.stop()
      await redis.stop()
      rmSync(folder, { recursive: true })
    }
  }
  await own.start()
  return own
}

function run(program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): RunningProgram {
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  process.once('exit', () => child.kill('SIGKILL'))
  return new RunningProgram(child)
}

async function isHealthy(url: string): Promise<void> {
  const late = AbortSignal.timeout(START_MS_MAX)
  const answers = (): Promise<boolean> =>
    fetch(url).then(
      ({ ok }) => ok,
      // Nobody listens yet.
      () => false
    )
  while (!(await answers())) {
    if (late.aborted) throw new Error('the rate limit service does not start')
    await after(RETRY_MS)
  }
}
