/**
 * The OpenTelemetry Collector for the conformance run: built from main.go, whose modules have fixed versions (go.mod,
 * go.sum), by way of the Go module proxy, into a cache outside the repository.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cacheFolder } from '#engine/testing/conformance-cache.ts'
import { freePort, runCommand } from '#engine/testing/program.ts'

const SOURCES = ['go.mod', 'go.sum', 'main.go']
const [, VERSION = ''] = /otelcol v(\S+)/.exec(readFileSync(join(import.meta.dirname, 'go.mod'), 'utf8')) ?? []

export const COLLECTOR_VERSION = VERSION

export interface RunningCollector {
  readonly grpcPort: number
  readonly httpPort: number
  /** Ends the collector and reads what it has written: Export requests as OTLP has them in JSON. */
  stop(): Promise<readonly unknown[]>
}

/** Throws an Error that says what is missing. */
function program(): string {
  const sum = createHash('sha256')
  for (const name of SOURCES) sum.update(readFileSync(join(import.meta.dirname, name)))
  const built = join(cacheFolder('collector'), `collector-${VERSION}-${sum.digest('hex').slice(0, 12)}`)
  if (existsSync(built)) return built
  try {
    execFileSync('go', ['version'], { stdio: 'ignore' })
  } catch {
    throw new Error('the collector is built with Go: install Go 1.26 or later, and have its program "go" on the PATH')
  }
  console.log(`collector: building the OpenTelemetry Collector ${VERSION}; the first time takes some minutes`)
  const build = ['go', 'build', '-mod=readonly', '-trimpath', '-ldflags=-s -w', '-o', built, '.']
  execFileSync('nice', build, { cwd: import.meta.dirname, stdio: 'inherit' })
  return built
}

export async function startCollector(): Promise<RunningCollector> {
  const collector = program()
  const folder = mkdtempSync(join(tmpdir(), 'weir-collector-'))
  const output = join(folder, 'received.json')
  const [grpcPort, httpPort] = [await freePort(), await freePort()]
  const pipeline = { receivers: ['otlp'], exporters: ['file'] }
  const settings = {
    receivers: {
      otlp: {
        protocols: { grpc: { endpoint: `127.0.0.1:${grpcPort}` }, http: { endpoint: `127.0.0.1:${httpPort}` } }
      }
    },
    exporters: { file: { path: output } },
    service: {
      telemetry: { metrics: { level: 'none' } },
      pipelines: { traces: pipeline, metrics: pipeline, logs: pipeline }
    }
  }
  const file = join(folder, 'settings.yaml')
  writeFileSync(file, JSON.stringify(settings))
  const running = runCommand(collector, ['--config', `file:${file}`])
  await running.logged('Everything is ready')
  return {
    grpcPort,
    httpPort,
    async stop() {
      running.signal('SIGTERM')
      await running.exited()
      const lines = readFileSync(output, 'utf8').split('\n').slice(0, -1)
      rmSync(folder, { recursive: true })
      return lines.map((line) => JSON.parse(line) as unknown)
    }
  }
}
