/** Real servers (nginx, HAProxy, openssl) for tests, each with files of its own that go with the test. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as after } from 'node:timers/promises'
import { systemProgram } from './system-programs.ts'

/** A folder that goes with the test. */
export function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'weir-daemon-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Starts nginx with this `http`, `stream` or other part of a configuration; resolves when it listens on `port`. */
export async function startNginx(t: TestContext, port: number, blocks: string): Promise<void> {
  const folder = folderOf(t)
  const file = join(folder, 'nginx.conf')
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`
  )
  const text = `daemon off; pid ${folder}/pid; error_log ${folder}/error.log;
    events { worker_connections 256; }
    ${blocks.replace('http {', `http { access_log off; ${paths.join(' ')}`)}`
  writeFileSync(file, text)
  await run(t, 'nginx', ['-p', folder, '-c', file, '-e', join(folder, 'error.log')], port)
}

export async function startHaproxy(t: TestContext, port: number, sections: string): Promise<void> {
  const file = join(folderOf(t), 'haproxy.cfg')
  writeFileSync(file, `${sections.trim().replace(/^ {4}/gm, '')}\n`)
  await run(t, 'haproxy', ['-db', '-q', '-f', file], port)
}

async function run(t: TestContext, program: string, args: readonly string[], port: number): Promise<void> {
  t.after(await startServer(program, args, port))
}

/** Resolves when it listens on `port`, with what ends it; rejects when it is not installed, or ends before. */
export async function startServer(
  program: string,
  args: readonly string[],
  port: number,
  path?: string
): Promise<() => Promise<void>> {
  // openssl ends with its input.
  const child = spawn(systemProgram(program, path), args, { stdio: ['pipe', 'ignore', 'pipe'] })
  let problem = ''
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk
  })
  child.once('error', (error) => {
    problem = `${program} cannot be started: ${error.message}`
  })
  child.once('close', (code, signal) => {
    if (problem === '') problem = `${program} has ended (${code ?? signal}): ${output}`
  })
  // Nothing but its port says when a server of others is there.
  while (!(await answers(port))) {
    if (problem !== '') throw new Error(problem)
    await after(10)
  }
  return async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'close')
    // Not SIGKILL: the workers of nginx would outlive their master.
    child.kill('SIGTERM')
    await gone
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
