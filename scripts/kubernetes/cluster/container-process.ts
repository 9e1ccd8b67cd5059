/** A container: a program in a network namespace and a file system of its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Environment, Files } from './container.ts'
import { keepLog } from './container-log.ts'

/** How an image is run here: its entry point, and programs that it has on its PATH. */
export interface Image {
  readonly entrypoint: readonly string[]
  /** Text of a script by name. */
  readonly programs?: Readonly<Record<string, string>>
}

export interface Mount {
  readonly volume: string
  readonly path: string
}

/** As far as it is played: everything else is root's. */
export interface Security {
  /** Null: root. */
  readonly user: number | null
  /** Of volumes that are written to. */
  readonly group: number
  readonly isReadOnly: boolean
  /** Of the network namespace: "net.ipv4.ip_unprivileged_port_start=0". */
  readonly sysctls: readonly string[]
}

export interface ContainerOptions {
  /** Of this container alone; on a file system that is not the root. */
  readonly folder: string
  readonly image: Image
  readonly mounts: readonly Mount[]
  /** Of the machine: bound to the same path. */
  readonly sharedFiles: readonly string[]
  readonly security: Security
  readonly log: string
}

const VOLUME_MODE = 0o2775
const UNPRIVILEGED = ['--clear-groups', '--no-new-privs', '--inh-caps=-all', '--bounding-set=-all']

/** The machine's files are below what the container writes: nothing of it reaches the machine. */
const MAKE_ROOT = `
set -e
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
mount --rbind /proc "$1/root/proc"
mount --rbind /dev "$1/root/dev"
mount --bind "$1/volumes" "$1/root/mnt"
for file in $2; do mount --bind "$file" "$1/root$file"; done
for setting in $5; do echo "\${setting#*=}" > "/proc/sys/$(echo "\${setting%%=*}" | tr . /)"; done
echo there
read -r _
exec chroot "$1/root" sh -c "$3" sh "$4" "$6"
`
/** Inside: links such as /var/run lead to where they should. */
const MOUNT_AND_RUN = `
set -e
for mount in $1; do
  mkdir -p "\${mount#*=}"
  mount --bind "/mnt/\${mount%%=*}" "\${mount#*=}"
done
$2
cd /
. /mnt/.command
`

export class ContainerProcess {
  readonly #options: ContainerOptions
  readonly #child: ChildProcess
  readonly #exit: Promise<void>
  #hasEnded = false

  private constructor(options: ContainerOptions, child: ChildProcess) {
    this.#options = options
    this.#child = child
    this.#exit = new Promise((resolve) => {
      child.once('close', () => {
        this.#hasEnded = true
        resolve()
      })
    })
  }

  /** Its namespaces are there; its program waits for `run`. */
  static async prepare(options: ContainerOptions): Promise<ContainerProcess> {
    const { folder, image, mounts, sharedFiles, security, log } = options
    for (const name of ['upper', 'work', 'root', 'volumes']) mkdirSync(join(folder, name), { recursive: true })
    for (const { volume } of mounts) {
      const path = join(folder, 'volumes', volume)
      mkdirSync(path, { recursive: true })
      chownSync(path, 0, security.group)
      chmodSync(path, VOLUME_MODE)
    }
    for (const [name, text] of Object.entries(image.programs ?? {})) {
      const path = join(folder, 'upper', 'usr', 'local', 'bin', name)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text, { mode: 0o755 })
    }
    const list = mounts.map(({ volume, path }) => `${volume}=${path}`).join(' ')
    const seal = security.isReadOnly ? 'mount -o remount,ro /' : ''
    const words = [folder, sharedFiles.join(' '), MOUNT_AND_RUN, list, security.sysctls.join(' '), seal]
    const script = ['sh', '-c', MAKE_ROOT, 'sh', ...words]
    const child = spawn('unshare', ['--net', '--mount', ...script], { stdio: ['pipe', 'pipe', 'pipe'] })
    keepLog(child.stderr, log)
    const container = new ContainerProcess(options, child)
    const isThere = await Promise.race([
      new Promise<boolean>((resolve) => child.stdout.once('data', () => resolve(true))),
      container.#exit.then(() => false)
    ])
    if (!isThere) throw new Error(`a container has no namespaces; see ${log}`)
    keepLog(child.stdout, log)
    return container
  }

  /** Also that of its namespaces. */
  get pid(): number {
    return this.#child.pid!
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  get exited(): Promise<void> {
    return this.#exit
  }

  writeVolume(volume: string, files: Files): void {
    for (const [path, content] of files) {
      const file = join(this.#options.folder, 'volumes', volume, path)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, content)
    }
  }

  run(command: readonly string[], environment: Environment): void {
    const variables = Object.entries(environment).map(([name, value]) => quoted(`${name}=${value}`))
    const { user } = this.#options.security
    const program =
      user === null ? command : ['setpriv', `--reuid=${user}`, `--regid=${user}`, ...UNPRIVILEGED, ...command]
    const line = ['exec env -i', ...variables, ...program.map(quoted)].join(' ')
    writeFileSync(join(this.#options.folder, 'volumes', '.command'), `${line}\n`)
    this.#child.stdin?.end('\n')
  }

  /** Another program in it; resolves when that has ended. */
  exec(command: readonly string[], environment: Environment): Promise<void> {
    const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`)
    const namespaces = ['--target', `${this.pid}`, '--net', '--mount', '--root', '--wd=/']
    const child = spawn('nsenter', [...namespaces, 'env', '-i', ...variables, ...command], { stdio: 'ignore' })
    return new Promise((resolve) => {
      child.once('close', () => resolve())
      child.once('error', () => resolve())
    })
  }

  signal(name: NodeJS.Signals): void {
    if (!this.#hasEnded) this.#child.kill(name)
  }
}

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`
