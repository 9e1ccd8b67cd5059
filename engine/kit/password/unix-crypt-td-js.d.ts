/** The package has no types of its own. */
declare module 'unix-crypt-td-js' {
  /** DES-based crypt(3): the hash, 13 characters. `password`: its bytes; `salt`: two characters. */
  export default function crypt(password: readonly number[], salt: string): string
}
