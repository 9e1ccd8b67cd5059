/**
 * The root file system of a container: the pinned Node with its libraries, the bundle and the two packages beside
 * it, and nothing else, no shell either. It needs no write access and no user but its own.
 *
 *   node scripts/package/rootfs.ts FOLDER         writes it (Linux; the Dockerfile does so)
 *   node scripts/package/rootfs.ts FOLDER --try   and runs it: read-only, as its own user, without a daemon (as root)
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, copyFile, cp, mkdir, readdir, realpath, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join, resolve } from 'node:path'

const ROOT = join(import.meta.dirname, '..', '..')
const MODULES = join(ROOT, 'node_modules')
const PROGRAM = '/opt/weir/dist/weir.mjs'
/** "nonroot", as other images without a shell have it. */
const USER = 65_532

/** Shared libraries, and the loader, that a program names. */
function librariesOf(file: string): string[] {
  const lines = execFileSync('ldd', [file], { encoding: 'utf8' }).split('\n')
  return lines.map((line) => /(?:=> )?(\/\S+) \(/.exec(line)?.[1]).filter((path) => path !== undefined)
}

async function put(root: string, from: string, to: string): Promise<void> {
  await mkdir(dirname(join(root, to)), { recursive: true })
  await copyFile(await realpath(from), join(root, to))
}

/** Of uWebSockets.js what this platform loads: its packages have the binaries of all. */
async function putUws(root: string): Promise<void> {
  const from = join(MODULES, 'uWebSockets.js')
  const to = join(root, 'opt/weir/node_modules/uWebSockets.js')
  const mine = `_${process.platform}_${process.arch}_${process.versions.modules}.node`
  const skip = (path: string) => path.endsWith('.node') && !path.endsWith(mine)
  if (existsSync(from)) await cp(from, to, { recursive: true, filter: (path) => !skip(path) })
}

/** Of a package: what runs, and its terms. */
const isRun = (path: string): boolean => !/\.(?:map|d\.[cm]?ts|md)$|\/(?:src|test|benchmark|examples|docs)$/.test(path)

export async function writeRoot(root: string): Promise<void> {
  await rm(root, { recursive: true, force: true })
  const node = join(MODULES, 'node', 'bin', 'node')
  await put(root, node, '/usr/bin/node')
  await chmod(join(root, 'usr/bin/node'), 0o755)
  for (const path of librariesOf(node)) await put(root, path, path)
  const dist = join(ROOT, 'dist')
  const built = (await readdir(dist)).filter((name) => /^weir.*\.mjs$|^licenses\.txt$/.test(name))
  for (const name of built) await put(root, join(dist, name), `/opt/weir/dist/${name}`)
  await put(root, join(ROOT, 'LICENSE'), '/opt/weir/LICENSE')
  await cp(join(MODULES, 'piscina'), join(root, 'opt/weir/node_modules/piscina'), { recursive: true, filter: isRun })
  await putUws(root)
  for (const name of ['tmp', 'etc/weir', 'proc', 'dev']) await mkdir(join(root, name), { recursive: true })
  await writeFile(join(root, 'etc/passwd'), `weir:x:${USER}:${USER}:weir:/:/sbin/nologin\n`)
  await writeFile(join(root, 'etc/group'), `weir:x:${USER}:\n`)
  await writeFile(join(root, 'etc/nsswitch.conf'), 'hosts: files dns\n')
}

/** The folder becomes the root; $1 is it, $2 the configuration. */
const INSIDE = [
  'mount --bind "$1" "$1"',
  'mount -t proc proc "$1/proc"',
  'mount -o remount,ro,bind "$1"',
  `exec chroot --userspec=${USER}:${USER} --groups= "$1" /usr/bin/node ${PROGRAM} -c "$2"`
].join(' && ')

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

/** In namespaces of its own, where the folder is the root and cannot be written to. Throws when it does not answer. */
async function tryRoot(root: string): Promise<void> {
  const port = await freePort()
  const off = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off' }
  const policies = { directResponse: { status: 200, body: 'hi' } }
  const config = JSON.stringify({ config: off, binds: [{ port, listeners: [{ routes: [{ policies }] }] }] })
  const own = ['--mount', '--pid', '--fork', '--kill-child']
  const child = spawn('unshare', [...own, 'sh', '-c', INSIDE, 'sh', root, config], {
    stdio: ['ignore', 'ignore', 'pipe']
  })
  let errors = ''
  for await (const chunk of child.stderr) {
    errors += chunk
    if (errors.includes('target=start')) break
  }
  if (!errors.includes('target=start')) throw new Error(`it did not start: ${errors}`)
  const response = await fetch(`http://127.0.0.1:${port}/`)
  const text = await response.text()
  // Killed with it: what it mounted goes with its namespaces.
  child.kill('SIGKILL')
  await once(child, 'exit')
  if (text !== 'hi') throw new Error(`it answered ${response.status} ${text}`)
}

if (import.meta.main) {
  const [folder, mode] = process.argv.slice(2)
  if (folder === undefined) throw new Error('name the folder to write')
  const root = resolve(folder)
  await writeRoot(root)
  if (mode === '--try') await tryRoot(root)
  process.stdout.write(`${root}: ${mode === '--try' ? 'written, and it serves' : 'written'}\n`)
}
