//! Folders whose contents are run: nobody else may write there.
//!
//! ```text
//! folder ──▶ a link?  of another user?  in a folder where others may exchange it?  ──▶ refused
//!        └─▶ ours, but others may write ──▶ closed to them
//! ```

use rustix::process::geteuid;
use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

/// What others may do with a file that they may write.
const OTHERS_WRITE: u32 = 0o022;
/// Everybody may write, those of one's group aside.
const EVERYBODY_WRITES: u32 = 0o002;
/// What belongs to somebody stays where it is.
const STICKY: u32 = 0o1000;

/// Make a folder that only this user may write, or see to it that one is so.
///
/// # Errors
/// It cannot be made, is a link or no folder, or belongs to somebody else.
pub fn folder(path: &Path) -> io::Result<()> {
    if let Some(above) = path.parent().filter(|above| !above.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(above)?;
        check_above(&fs::metadata(above)?)?;
    }
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made,
    }
    let found = fs::symlink_metadata(path)?;
    if !found.is_dir() {
        return Err(io::Error::other("it is not a folder, and a link is not followed"));
    }
    if !is_ours(&found) {
        return Err(io::Error::other("it belongs to another user, who could put programs there"));
    }
    if found.mode() & OTHERS_WRITE != 0 {
        fs::set_permissions(path, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Refuse a folder in which others could put another one in the place of ours.
fn check_above(found: &Metadata) -> io::Result<()> {
    if !is_ours(found) && found.uid() != 0 {
        return Err(io::Error::other("the folder above it belongs to another user"));
    }
    if found.mode() & EVERYBODY_WRITES != 0 && found.mode() & STICKY == 0 {
        return Err(io::Error::other("others may write into the folder above it"));
    }
    Ok(())
}

/// Whether this is a file, not a link, that only this user may write.
pub fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && is_ours(&found) && found.mode() & OTHERS_WRITE == 0)
}

fn is_ours(found: &Metadata) -> bool {
    found.uid() == geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn others_may_not_write() {
        let outside = std::env::temp_dir().join(format!("tabla-gen-private-{}", std::process::id()));
        fs::create_dir(&outside).unwrap();
        let place = outside.join("a/b");
        folder(&place).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!(mode(&place), 0o700);
        fs::set_permissions(&place, Permissions::from_mode(0o777)).unwrap();
        folder(&place).unwrap();
        assert_eq!(mode(&place), 0o700);
        let link = outside.join("link");
        symlink(&place, &link).unwrap();
        assert!(folder(&link).unwrap_err().to_string().contains("a link is not followed"));
        let file = place.join("file");
        fs::write(&file, "x").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        assert!(is_file(&file) && !is_file(&place));
        fs::set_permissions(&file, Permissions::from_mode(0o666)).unwrap();
        assert!(!is_file(&file));
        symlink(&file, place.join("other")).unwrap();
        assert!(!is_file(&place.join("other")));
        // Who may write above it could exchange it; in a folder like /tmp only what is one's own.
        fs::set_permissions(place.parent().unwrap(), Permissions::from_mode(0o777)).unwrap();
        assert!(folder(&place).unwrap_err().to_string().contains("others may write into the folder above"));
        fs::set_permissions(place.parent().unwrap(), Permissions::from_mode(0o1777)).unwrap();
        folder(&place).unwrap();
        fs::remove_dir_all(&outside).unwrap();
    }
}
