/** The scripts that dpkg runs at an installation, upgrade, removal and purge. POSIX shell without debhelper. */

const head = "#!/bin/sh\nset -e\n";

/** A condition of the shell: systemd is running. It is not while an image is built. */
const hasSystemd = "[ -d /run/systemd/system ]";

/**
 * Makes the group and the user `tvs` if they are missing. An existing user may have another primary group. It becomes a
 * member of `tvs`, which the unit and the settings file use.
 */
const makeUser = `\
getent group tvs >/dev/null || groupadd --system tvs
if ! getent passwd tvs >/dev/null; then
  useradd --system --gid tvs --home-dir /var/lib/tvs --no-create-home \\
    --shell /usr/sbin/nologin --comment "Teacher Verification Service" tvs
fi
case " $(id -nG tvs) " in
  *" tvs "*) ;;
  *) usermod --append --groups tvs tvs ;;
esac
`;

/**
 * Makes the data folder, or gives a folder of root to the service. The files in it are given only if nobody but root
 * could write there: a planted link would give its target away. They come first, because the new owner could change
 * them.
 */
const makeDataFolder = `\
data=/var/lib/tvs
if [ -L "$data" ]; then
  echo "tvs: $data is a symbolic link and stays as it is; what it leads to must belong to the user tvs."
elif [ ! -e "$data" ]; then
  install -d -o tvs -g tvs -m 700 "$data"
elif [ "$(stat -c %U "$data")" = root ]; then
  if [ -z "$(find "$data" -xdev \\( ! -user root -o ! -type l -perm /022 -o -type f -links +1 \\) -print -quit)" ]; then
    find "$data" -xdev -mindepth 1 \\( -type f -o -type d \\) -exec chown -h tvs:tvs {} +
  else
    echo "tvs: others could write below $data, so only the folder itself was given to the user tvs. Look at its"
    echo "files, then give the register's to the service: chown -h tvs:tvs FILE"
  fi
  chown -h tvs:tvs "$data"
  chmod 700 "$data"
elif [ "$(stat -c %U "$data")" != tvs ]; then
  echo "tvs: $data belongs to $(stat -c %U "$data"), so the service cannot use it: give it to the user tvs."
fi
`;

/** A first installation makes user, data folder and settings, and starts nothing. An upgrade restarts a running service. */
export const postinst = `${head}
[ "$1" = configure ] || exit 0

${makeUser}
${makeDataFolder}
install -d -m 755 /etc/tvs
# Copied once and never replaced: the operator edits it.
[ -e /etc/tvs/tvs.env ] || install -o root -g tvs -m 640 /usr/share/tvs/tvs.env /etc/tvs/tvs.env

for name in tvs.service tvs-backup.service tvs-backup.timer tvs-import.service tvs-import.timer; do
  unit=/etc/systemd/system/$name
  [ -e "$unit" ] || continue
  echo "tvs: $unit is used instead of the package's. To use the package's:"
  echo "  rm $unit; systemctl daemon-reload"
done
if ${hasSystemd}; then
  systemctl daemon-reload
  if [ -n "$2" ]; then systemctl try-restart tvs.service; fi
fi
if [ -z "$2" ] && [ ! -e /var/lib/tvs/tvs.db ]; then
  echo "Next:"
  echo "  sudo -u tvs tvs init              # asks for the public URL, the registry's name and more"
  echo "  sudo systemctl enable --now tvs"
fi
`;

/** A removal stops the service and its timers. An upgrade keeps it running until the new program is installed. */
export const prerm = `${head}
[ "$1" = remove ] || exit 0
${hasSystemd} || exit 0
for unit in tvs-backup.timer tvs-import.timer tvs.service; do
  if systemctl cat "$unit" >/dev/null 2>&1; then systemctl disable --now "$unit" || true; fi
done
`;

/** A purge deletes the settings and never the register, which is evidence. */
export const postrm = `${head}
if [ "$1" = purge ]; then
  rm -f /etc/tvs/tvs.env
  rmdir --ignore-fail-on-non-empty /etc/tvs 2>/dev/null || true
  if [ -e /var/lib/tvs ]; then
    if [ -n "$(ls -A /var/lib/tvs)" ]; then
      echo "tvs: the register stays in /var/lib/tvs, with its master key and the evidence of what was signed."
      echo "To delete it permanently: rm -r /var/lib/tvs; userdel tvs"
    else
      rmdir /var/lib/tvs
      if getent passwd tvs >/dev/null; then userdel tvs 2>/dev/null || true; fi
    fi
  fi
fi
if ${hasSystemd}; then systemctl daemon-reload || true; fi
`;
