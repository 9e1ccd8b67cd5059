#!/usr/bin/env node
// Starts weir on the Node that it is built for. Plain JavaScript for any Node from 18 on: an older one
// than 22.18 cannot run the program itself, so the pinned Node of the npm package `node` takes over.
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, '..', '..')
const bundle = join(root, 'dist', 'weir.mjs')
const program = existsSync(bundle) && !isStale() ? bundle : join(here, 'start.ts')
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

// In a clone: what was built before the last change would run, and nobody would know why it acts as it does.
function isStale() {
  if (!existsSync(join(here, 'start.ts'))) return false
  const builtAt = statSync(bundle).mtimeMs
  for (const folder of ['engine', 'policies', 'backends']) {
    const sources = join(root, folder)
    if (!existsSync(sources)) continue
    for (const name of readdirSync(sources, { recursive: true })) {
      if (!/\.(?:tsx?|css)$/.test(name) || name.endsWith('.test.ts')) continue
      if (statSync(join(sources, name)).mtimeMs <= builtAt) continue
      process.stderr.write(
        `weir: dist is older than ${join(folder, name)}: running the sources; npm run build renews it\n`
      )
      return true
    }
  }
  return false
}

// Without its packages the program would end with a stack of Node's.
function isInstalled() {
  if (program === bundle) return true
  try {
    const { resolve } = createRequire(import.meta.url)
    resolve('node/package.json')
    // Of the sources only: in the bundle it is part of the program.
    resolve('zod')
    return true
  } catch {
    process.stderr.write('weir: its packages are not installed: run npm ci first (the sources need all of them)\n')
    process.exitCode = 1
    return false
  }
}

function pinnedNode() {
  const manifest = createRequire(import.meta.url).resolve('node/package.json')
  return join(dirname(manifest), 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
}

if (!isInstalled()) {
  // isInstalled() has printed what is missing.
} else if (major > 22 || (major === 22 && minor >= 18)) {
  process.removeAllListeners('warning')
  await import(pathToFileURL(program))
} else {
  const args = ['--disable-warning=ExperimentalWarning', program, ...process.argv.slice(2)]
  const child = spawn(pinnedNode(), args, { stdio: 'inherit' })
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('error', (error) => {
    // Its package is a script that fetches it, and npm may be told to run no scripts.
    const isMissing = error.code === 'ENOENT'
    const why = isMissing ? 'npm was not allowed to run the install script of the package node' : error.message
    process.stderr.write(
      `weir: cannot start the pinned Node: ${why}; run npm rebuild node, or weir on Node 22.18 or later\n`
    )
    process.exitCode = 1
  })
  child.on('exit', (code, signal) => {
    process.exitCode = signal === null ? (code ?? 1) : 128 + (constants.signals[signal] ?? 0)
  })
}
