/** What LiteLLM keeps virtual keys in: a PostgreSQL of its own with its tables, and the engine by which it asks it. */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pinnedNpm } from '#engine/testing/pinned.ts'

const HERE = import.meta.dirname
const ENGINE = fileURLToPath(new URL('./query-engine.ts', import.meta.url))
const INSTALL_MS_MAX = 300_000

/** What is installed of PostgreSQL: the folder of its programs, and how a server is started. */
export interface Postgres {
  readonly programs: string
  start(programs: string): Promise<{ readonly url: string; close(): Promise<void> }>
}

export interface Database {
  /** For LiteLLM. */
  readonly variables: Readonly<Record<string, string>>
  close(): Promise<void>
}

/** `python`: of the environment that has LiteLLM. */
export async function startDatabase(python: string, { programs, start }: Postgres): Promise<Database> {
  const packages = join(packagesOf(python))
  const npm = await pinnedNpm('weir-litellm-database', join(HERE, 'packages', 'package.json'))
  const engine = join(npm, 'query-engine')
  const command = [process.execPath, '--disable-warning=ExperimentalWarning', ENGINE, npm]
  writeFileSync(engine, `#!/bin/sh\nexec ${command.map((one) => `'${one}'`).join(' ')} "$@"\n`, { mode: 0o755 })
  // Nothing asks the schema engine: the tables are made of LiteLLM's own files.
  const engines = { PRISMA_QUERY_ENGINE_BINARY: engine, PRISMA_SCHEMA_ENGINE_BINARY: engine }
  execFileSync(
    join(dirname(python), 'prisma'),
    ['generate', '--schema', join(packages, 'litellm', 'proxy', 'schema.prisma')],
    {
      env: { ...process.env, ...engines, PATH: `${dirname(python)}:${dirname(process.execPath)}:${process.env.PATH}` },
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: INSTALL_MS_MAX
    }
  )
  const server = await start(programs)
  const psql = [server.url, '-q', '-v', 'ON_ERROR_STOP=1', '-f', '-']
  execFileSync(join(programs, 'psql'), psql, {
    input: migrations(packages),
    stdio: ['pipe', 'ignore', 'ignore'],
    timeout: INSTALL_MS_MAX
  })
  return {
    variables: { ...engines, DATABASE_URL: server.url, DISABLE_SCHEMA_UPDATE: 'true' },
    close: () => server.close()
  }
}

const packagesOf = (python: string): string =>
  execFileSync(python, ['-c', 'import sysconfig; print(sysconfig.get_path("purelib"))'], { encoding: 'utf8' }).trim()

function migrations(packages: string): string {
  const root = join(packages, 'litellm_proxy_extras', 'migrations')
  const names = readdirSync(root).filter((name) => /^\d/.test(name))
  return names
    .toSorted()
    .map((name) => readFileSync(join(root, name, 'migration.sql'), 'utf8'))
    .join('\n;\n')
}
