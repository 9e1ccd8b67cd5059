#!/usr/bin/env node
// Starts weir on the Node that it is built for. Plain JavaScript for any Node from 18 on: an older one
// than 22.18 cannot run the program itself, so the pinned Node of the npm package `node` takes over.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const bundle = join(here, '..', 'dist', 'weir.mjs')
const program = existsSync(bundle) ? bundle : join(here, 'main.ts')
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

function pinnedNode() {
  const manifest = createRequire(import.meta.url).resolve('node/package.json')
  return join(dirname(manifest), 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
}

if (major > 22 || (major === 22 && minor >= 18)) {
  process.removeAllListeners('warning')
  await import(pathToFileURL(program))
} else {
  const args = ['--disable-warning=ExperimentalWarning', program, ...process.argv.slice(2)]
  const child = spawn(pinnedNode(), args, { stdio: 'inherit' })
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => {
    process.stderr.write(`weir: cannot start Node: ${error.message}; run npm ci again\n`)
    process.exitCode = 1
  })
  child.on('exit', (code, signal) => {
    process.exitCode = signal === null ? (code ?? 1) : 128 + (constants.signals[signal] ?? 0)
  })
}
